import { describe, expect, it } from '@jest/globals';
import { EventLoopDelay } from '../../../adapters/http/admission/event-loop-delay.ts';
import { LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import { until } from '../../support/until.ts';

const LIMITS = { inFlight: 3, inFlightWhenLate: 1, lateMs: 200 };

function enterAll(load: LoadLimit, count: number): readonly boolean[] {
  return Array.from({ length: count }, () => load.enter());
}

describe('LoadLimit', () => {
  it('lets in as many as may be under way, and one more for each that leaves', () => {
    const load = new LoadLimit(LIMITS, () => 0);
    expect(enterAll(load, 5)).toEqual([true, true, true, false, false]);
    load.leave();
    expect(enterAll(load, 2)).toEqual([true, false]);
    expect(load.inFlight).toBe(3);
  });

  it('lets in fewer while the event loop is late, and as many as before when it has caught up', () => {
    let delayMs = 200;
    const load = new LoadLimit(LIMITS, () => delayMs);
    expect(enterAll(load, 2)).toEqual([true, false]);
    delayMs = 199;
    expect(enterAll(load, 3)).toEqual([true, true, false]);
  });
});

describe('EventLoopDelay', () => {
  it('grows while the event loop is held up again and again, not with one pause, and falls when that is over', async () => {
    const delay = new EventLoopDelay();
    try {
      hold(500);
      await new Promise(setImmediate);
      expect(delay.milliseconds).toBeLessThan(200);
      await until(() => {
        hold(600);
        return delay.milliseconds >= 200;
      }, 'the loop is late');
      await until(() => delay.milliseconds < 50, 'the loop has caught up');
    } finally {
      delay.close();
    }
  });
});

/** Does nothing else for that long. */
function hold(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
