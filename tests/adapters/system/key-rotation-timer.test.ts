import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type KeyDirectoryEvent, KeyRotationTimer } from '../../../adapters/system/key-rotation-timer.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { KeyRows } from '../../../application/ports/key-ring-store.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { unstartedKeyRing } from '../../support/fresh-key-ring.ts';
import { SharedRing } from '../../support/shared-ring.ts';
import { until } from '../../support/until.ts';

/** So slow that the timer is late. */
class SlowRing extends SharedRing {
  delayMs = 0;

  override async read(): Promise<KeyRows> {
    await delay(this.delayMs);
    return super.read();
  }
}

/** So short that the timer advances the ring every 5 ms. */
const PUBLICATION_SECONDS = 0.02;

let timer: KeyRotationTimer | undefined;
afterEach(() => timer?.close());

describe('KeyRotationTimer', () => {
  it('is ready after the first advance, and reads again and again', async () => {
    const { ring, events } = await start();
    expect(timer?.readiness()).toEqual({ ready: true });
    expect(timer?.verification.readiness()).toEqual({ ready: true });
    const before = ring.reads;
    await until(() => ring.reads > before + 3, 'it has read again');
    expect(events).toEqual([]);
  });

  it('is not ready before the ring can be read, and logs each change of state once', async () => {
    const { ring, events } = await start((shared) => {
      shared.fault = 'away';
    });
    expect(timer?.readiness()).toMatchObject({ ready: false, reason: { text: 'the key ring could not be read yet' } });
    expect(timer?.verification.readiness()).toMatchObject({
      ready: false,
      reason: { text: 'no key of the ring is known' },
    });
    await until(() => ring.reads > 3, 'it has tried again');
    ring.fault = 'none';
    await until(() => events.length > 1, 'the ring is available');
    expect(timer?.readiness()).toEqual({ ready: true });
    expect(events).toEqual([
      { event: 'key_directory_unavailable', fault: expect.any(DependencyUnavailable) },
      { event: 'key_directory_available' },
    ]);
  });

  it('logs a key that cannot be opened, and one whose row was changed, once each', async () => {
    const { ring, events } = await start();
    await until(() => ring.rows.length === 2, 'there are two keys');
    ring.rows = ring.rows.map((row, index) => ({ ...row, sealed: index === 0 ? 'locked' : 'changed' }));
    const before = ring.reads;
    await until(() => ring.reads > before + 3, 'it has read again');
    const [locked, damaged] = ring.rows.map(({ kid }) => kid);
    expect(events).toEqual([
      { event: 'key_locked', key_id: locked, reason: 'its secret is missing, whose id is abc' },
      { event: 'key_damaged', key_id: damaged, reason: 'its row was damaged or changed' },
    ]);
    expect(timer?.readiness().ready).toBe(false);
  });

  it('never sets a timer in the past, however long a publication takes', async () => {
    const delays: number[] = [];
    const { setTimeout } = globalThis;
    const recorded = (run: () => void, delayMs: number) => {
      delays.push(delayMs);
      return setTimeout(run, delayMs);
    };
    globalThis.setTimeout = Object.assign(recorded, setTimeout) as typeof globalThis.setTimeout;
    try {
      const { ring } = await start((shared) => {
        shared.delayMs = 20;
      });
      const before = ring.reads;
      await until(() => ring.reads > before + 3, 'it has read again');
    } finally {
      globalThis.setTimeout = setTimeout;
    }
    expect(delays.length).toBeGreaterThan(2);
    expect(delays.filter((delayMs) => delayMs < 0)).toEqual([]);
  });

  it('reports a clock that is off: a note, then no readiness, one line for each change', async () => {
    const { ring, events } = await start((shared) => {
      shared.aheadSeconds = -3;
    });
    expect(timer?.readiness()).toMatchObject({
      ready: true,
      note: { text: 'the clock is 3.0 s ahead of that of the key directory' },
    });
    ring.aheadSeconds = 7_200;
    await until(() => timer?.readiness().ready === false, 'it notices');
    expect(timer?.readiness()).toMatchObject({
      ready: false,
      reason: {
        text: expect.stringMatching(
          /clock of this machine .* \(the clock is 7200\.0 s behind that of the key directory\)/,
        ),
      },
    });
    ring.aheadSeconds = 0;
    await until(() => timer?.readiness().ready === true, 'it is right again');
    await until(() => events.length > 2, 'it is logged');
    expect(events).toEqual([
      { event: 'clock_off', offset_seconds: 3 },
      { event: 'clock_wrong', offset_seconds: -7200 },
      { event: 'clock_right', offset_seconds: 0 },
    ]);
  });
});

async function start(prepare: (ring: SlowRing) => void = () => {}) {
  const clock = new FixedClock();
  const ring = new SlowRing(clock);
  prepare(ring);
  const events: KeyDirectoryEvent[] = [];
  timer = new KeyRotationTimer(unstartedKeyRing({ shared: ring, clock, rotationSeconds: 1_000 }), {
    publicationSeconds: PUBLICATION_SECONDS,
    log: (event) => events.push(event),
  });
  await timer.start();
  return { ring, events };
}
