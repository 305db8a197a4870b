import { describe, expect, it } from '@jest/globals';
import { PACED_ATTEMPTS, PacedAttempts } from '../../../adapters/secrets/paced-attempts.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { until } from '../../support/until.ts';

const NEVER = new AbortController().signal;

/** A pace of one attempt every that many milliseconds. */
function paceOf(intervalMs: number) {
  let at = performance.now() + intervalMs;
  const taken: number[] = [];
  return {
    taken,
    waitMs: () => at - performance.now(),
    take: () => {
      taken.push(performance.now());
      at = performance.now() + intervalMs;
    },
  };
}

const SLOW = { waitMs: () => 60_000, take: () => {} };

describe('PacedAttempts', () => {
  it('selects one attempt at a time, at the pace of its pair', async () => {
    const paced = new PacedAttempts({ max: 10, waitMs: 60_000, intervalMsMax: 60_000 });
    const pace = paceOf(30);
    const begin = performance.now();
    const selected = await Promise.all([1, 2, 3].map(() => paced.wait('a pair', NEVER, pace)));
    expect(selected).toEqual([true, true, true]);
    expect(pace.taken).toHaveLength(3);
    // Each timer may be early by a millisecond, and its beginning is rounded.
    expect(performance.now() - begin).toBeGreaterThanOrEqual(3 * 29);
    expect(paced.size).toBe(0);
  });

  it('gives each attempt that waits the same chance', async () => {
    const picks: number[] = [];
    const paced = new PacedAttempts({ max: 10, waitMs: 60_000, intervalMsMax: 60_000 }, (count) => {
      picks.push(count);
      return count - 1;
    });
    const order: string[] = [];
    const pace = paceOf(5);
    const attempts = ['first', 'second', 'third'].map(async (name) => {
      await paced.wait('a pair', NEVER, pace);
      order.push(name);
    });
    await Promise.all(attempts);
    expect(picks).toEqual([3, 2, 1]);
    expect(order).toEqual(['third', 'second', 'first']);
  });

  it('selects each of three attempts first in about a third of 300 cases', async () => {
    const firsts = [0, 0, 0];
    await Promise.all(
      Array.from({ length: 300 }, async (_, number) => {
        const paced = new PacedAttempts({ max: 3, waitMs: 60_000, intervalMsMax: 1 });
        const attempts = [0, 1, 2].map(async (index) => ({
          index,
          isSelected: await paced.wait(`pair ${number}`, NEVER, SLOW),
        }));
        const { index } = await Promise.race(attempts);
        firsts[index] = (firsts[index] ?? 0) + 1;
        await Promise.all(attempts);
      }),
    );
    // Fewer than 60 of 300 would be by chance once in five million times.
    for (const count of firsts) expect(count).toBeGreaterThan(60);
  });

  it('selects an attempt after the longest interval, even if the pace of its pair is slower', async () => {
    const paced = new PacedAttempts({ max: 10, waitMs: 60_000, intervalMsMax: 20 });
    expect(await paced.wait('a pair', NEVER, SLOW)).toBe(true);
  });

  it('refuses an attempt that is not selected within the waiting time', async () => {
    const paced = new PacedAttempts({ max: 10, waitMs: 20, intervalMsMax: 60_000 });
    expect(await paced.wait('a pair', NEVER, SLOW)).toBe(false);
    expect(paced.size).toBe(0);
    expect(paced.isWaiting('a pair')).toBe(false);
  });

  it('forgets a caller who disconnects: there is nothing to verify', async () => {
    const paced = new PacedAttempts({ max: 10, waitMs: 60_000, intervalMsMax: 60_000 });
    const leaving = new AbortController();
    const left = paced.wait('a pair', leaving.signal, SLOW);
    expect(paced.isWaiting('a pair')).toBe(true);
    leaving.abort();
    await expect(left).rejects.toThrow(DependencyUnavailable);
    expect(paced.isWaiting('a pair')).toBe(false);
    expect(paced.size).toBe(0);
    await expect(paced.wait('a pair', AbortSignal.abort(), SLOW)).rejects.toThrow(DependencyUnavailable);
  });

  it('holds no more attempts than its limit: a random one of the pair with the most is refused', async () => {
    const paced = new PacedAttempts({ max: 4, waitMs: 60_000, intervalMsMax: 60_000 });
    const flood = [1, 2, 3].map(() => paced.wait('flooded', NEVER, SLOW));
    const other = paced.wait('another', NEVER, SLOW);
    expect(paced.size).toBe(4);
    let refused = 0;
    for (const attempt of flood)
      attempt.then(
        (isSelected) => (refused += isSelected ? 0 : 1),
        () => {},
      );
    const late = paced.wait('another', NEVER, SLOW);
    await until(() => refused === 1, 'one attempt is refused');
    expect(paced.size).toBe(4);
    paced.close();
    const outcomes = await Promise.allSettled([...flood, other, late]);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(4);
  });

  it('refuses the new attempt if it is full and no pair has two', async () => {
    const paced = new PacedAttempts({ max: 2, waitMs: 60_000, intervalMsMax: 60_000 });
    const waiting = ['one', 'two'].map((pair) => paced.wait(pair, NEVER, SLOW));
    expect(await paced.wait('three', NEVER, SLOW)).toBe(false);
    expect(paced.size).toBe(2);
    paced.close();
    await Promise.allSettled(waiting);
  });

  it('refuses attempts when it closes, and new ones', async () => {
    const paced = new PacedAttempts();
    const waiting = paced.wait('a pair', NEVER, SLOW);
    paced.close();
    await expect(waiting).rejects.toThrow(DependencyUnavailable);
    await expect(paced.wait('a pair', NEVER, SLOW)).rejects.toThrow(DependencyUnavailable);
    expect(paced.size).toBe(0);
  });

  it('lets a caller who retries once succeed within five seconds by its default times', () => {
    const { waitMs, intervalMsMax } = PACED_ATTEMPTS;
    const RETRY_AFTER_MS = 1_000;
    expect(intervalMsMax).toBeLessThan(waitMs);
    expect(waitMs + RETRY_AFTER_MS + intervalMsMax).toBeLessThanOrEqual(4_000);
  });

  it('lets 2,048 attempts wait if nobody says how many', () => {
    expect(new PacedAttempts().max).toBe(2_048);
  });

  it('is woken for a pair, and selects as many of its attempts as have become available', async () => {
    const paced = new PacedAttempts({ max: 10, waitMs: 60_000, intervalMsMax: 60_000 });
    let available = 0;
    const pace = {
      waitMs: () => (available > 0 ? 0 : 60_000),
      take: () => {
        available -= 1;
      },
    };
    const waiting = [1, 2, 3].map(() => paced.wait('a pair', NEVER, pace));
    paced.wake('another pair');
    paced.wake('a pair');
    expect(paced.size).toBe(3);
    available = 2;
    paced.wake('a pair');
    expect(paced.size).toBe(1);
    expect(paced.isWaiting('a pair')).toBe(true);
    available = 1;
    paced.wake('a pair');
    expect(await Promise.all(waiting)).toEqual([true, true, true]);
    expect(paced.isWaiting('a pair')).toBe(false);
  });

  it('selects the next attempt one interval after the last, not after its own arrival', async () => {
    const paced = new PacedAttempts({ max: 10, waitMs: 60_000, intervalMsMax: 300 });
    const begin = performance.now();
    const first = paced.wait('a pair', NEVER, SLOW);
    const second = paced.wait('a pair', NEVER, SLOW);
    await first;
    await second;
    // Each timer may be early by a millisecond, and its beginning is rounded.
    expect(performance.now() - begin).toBeGreaterThanOrEqual(2 * 298);
  });

  it('says why it refuses: the caller has disconnected, or the service stops', async () => {
    const paced = new PacedAttempts();
    const because = (message: string) => ({ dependency: 'secret verification', cause: { message } });
    const gone = AbortSignal.abort();
    await expect(paced.wait('a', gone, SLOW)).rejects.toMatchObject(because('the caller has disconnected'));
    const leaving = new AbortController();
    const left = paced.wait('a', leaving.signal, SLOW);
    leaving.abort();
    await expect(left).rejects.toMatchObject(because('the caller has disconnected'));
    const waiting = paced.wait('a', NEVER, SLOW);
    paced.close();
    await expect(waiting).rejects.toMatchObject(because('the service stops'));
    await expect(paced.wait('a', NEVER, SLOW)).rejects.toMatchObject(because('the service stops'));
  });
});
