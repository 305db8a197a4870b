import { describe, expect, it } from '@jest/globals';
import type { CpuUse } from '../../../adapters/workers/heartbeat.ts';
import { HEARTBEAT_EVERY_MS, Heartbeat } from '../../../adapters/workers/heartbeat.ts';

const WITHIN_MS = 2_000;

/** A worker on a clock of its own. */
function world() {
  let nowMs = 0;
  let use: CpuUse | undefined = { ms: 0, isRunnable: false };
  let answer: (() => void) | undefined;
  const heartbeat = new Heartbeat({
    ping: () => new Promise((resolve) => (answer = resolve)),
    cpuUse: () => use,
    withinMs: WITHIN_MS,
    now: () => nowMs,
  });
  return {
    answer: async () => answer?.(),
    /** Beats until the worker hangs or that time has passed. Returns the milliseconds until it hung. */
    beatFor(
      ms: number,
      cpu: { readonly share: number; readonly isRunnable: boolean } | undefined,
      everyMs = HEARTBEAT_EVERY_MS,
    ) {
      for (let passed = 0; passed < ms; ) {
        passed += everyMs;
        nowMs += everyMs;
        use = cpu && { ms: (use?.ms ?? 0) + cpu.share * everyMs, isRunnable: cpu.isRunnable };
        if (heartbeat.beat()) return passed;
      }
      return undefined;
    },
  };
}

describe('Heartbeat', () => {
  it('finds out that a stopped worker hangs', () => {
    expect(world().beatFor(5_000, { share: 0, isRunnable: false })).toBe(WITHIN_MS + HEARTBEAT_EVERY_MS);
  });

  it('finds out that a worker whose event loop is blocked hangs', () => {
    expect(world().beatFor(5_000, { share: 1, isRunnable: true })).toBe(WITHIN_MS + HEARTBEAT_EVERY_MS);
  });

  it('gives a worker that waits for a CPU the time to answer, but not for ever', () => {
    const { beatFor } = world();
    expect(beatFor(9_000, { share: 0.1, isRunnable: true })).toBeUndefined();
    expect(beatFor(9_000, { share: 0.1, isRunnable: true })).toBeLessThan(2_000);
  });

  it('begins again with each answer', async () => {
    const { beatFor, answer } = world();
    for (let time = 0; time < 5; time += 1) {
      expect(beatFor(1_800, { share: 1, isRunnable: true })).toBeUndefined();
      await answer();
    }
  });

  it('counts all time where the system does not tell what a process does', () => {
    expect(world().beatFor(5_000, undefined)).toBe(WITHIN_MS + HEARTBEAT_EVERY_MS);
  });

  it.each([9_000, 10_000, 60_000, 86_400_000])(
    'does not count the time in which the primary was stopped itself: %d ms',
    async (pauseMs) => {
      const { beatFor, answer } = world();
      expect(beatFor(1_800, { share: 0, isRunnable: false })).toBeUndefined();
      expect(beatFor(pauseMs, { share: 0, isRunnable: false }, pauseMs)).toBeUndefined();
      await answer();
      expect(beatFor(1_800, { share: 0, isRunnable: false })).toBeUndefined();
    },
  );

  it('counts one interval at most for each of many pauses, and finds out afterwards that a worker hangs', () => {
    const { beatFor } = world();
    const [pauses, pauseMs] = [8, 60_000];
    expect(beatFor(pauses * pauseMs, { share: 0.5, isRunnable: true }, pauseMs)).toBeUndefined();
    expect(beatFor(5_000, { share: 1, isRunnable: true })).toBeLessThanOrEqual(WITHIN_MS);
  });
});
