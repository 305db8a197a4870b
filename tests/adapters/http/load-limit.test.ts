import { describe, expect, it } from '@jest/globals';
import { LoadLimit } from '../../../adapters/http/admission/load-limit.ts';
import { until } from '../../support/until.ts';

const LIMITS = { inFlight: 3, inFlightWhenLate: 1, lateMs: 200 };

function enterAll(load: LoadLimit, count: number): readonly boolean[] {
  return Array.from({ length: count }, () => load.enter());
}

describe('LoadLimit', () => {
  it('admits requests up to the limit, and one more for each that leaves', () => {
    const load = new LoadLimit(LIMITS, { delayMs: 0 });
    expect(enterAll(load, 5)).toEqual([true, true, true, false, false]);
    load.leave();
    expect(enterAll(load, 2)).toEqual([true, false]);
    expect(load.inFlight).toBe(3);
  });

  it('admits fewer while the event loop is late, and as many as before afterwards', () => {
    const eventLoop = { delayMs: 200 };
    const load = new LoadLimit(LIMITS, eventLoop);
    expect(enterAll(load, 2)).toEqual([true, false]);
    eventLoop.delayMs = 199;
    expect(enterAll(load, 3)).toEqual([true, true, false]);
  });

  it('counts the event loop as late once it is blocked again and again, not after one pause, and until that ends', async () => {
    const load = new LoadLimit({ inFlight: 1, inFlightWhenLate: 0, lateMs: 200 });
    const isLate = () => {
      if (!load.enter()) return true;
      load.leave();
      return false;
    };
    block(500);
    await new Promise(setImmediate);
    expect(isLate()).toBe(false);
    await until(() => {
      block(600);
      return isLate();
    }, 'the event loop is late');
    await until(() => !isLate(), 'the event loop has recovered');
  });
});

/** Blocks the event loop. */
function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
