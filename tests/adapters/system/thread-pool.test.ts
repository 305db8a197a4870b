import { describe, expect, it } from '@jest/globals';
import { PoolWork, poolBounds, threadsFor, threadsOf } from '../../../adapters/system/thread-pool.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';

const sum = (bounds: object) => Object.values(bounds).reduce((total, bound) => total + bound, 0);

describe('the bounds of the work in the pool of threads', () => {
  it.each([
    [1, { bcrypt: 1, assertions: 1, writers: 2 }, 8],
    [2, { bcrypt: 2, assertions: 1, writers: 2 }, 10],
    [4, { bcrypt: 4, assertions: 1, writers: 2 }, 14],
    [64, { bcrypt: 64, assertions: 1, writers: 2 }, 134],
  ])('are all of %d cores for BCrypt, and the pool has twice as many threads', (cores, bounds, threads) => {
    expect(poolBounds(cores)).toEqual(bounds);
    expect(threadsFor(bounds)).toBe(threads);
    expect(poolBounds(cores, threads)).toEqual(bounds);
  });

  it.each([
    [4, { bcrypt: 1, assertions: 1, writers: 1 }],
    [6, { bcrypt: 1, assertions: 1, writers: 1 }],
    [8, { bcrypt: 1, assertions: 1, writers: 2 }],
    [16, { bcrypt: 5, assertions: 1, writers: 2 }],
    [1_024, { bcrypt: 64, assertions: 1, writers: 2 }],
  ])('leave threads of a pool free that has %d of them already', (threads, bounds) => {
    expect(poolBounds(64, threads)).toEqual(bounds);
    expect(sum(bounds)).toBeLessThan(threads);
  });

  it.each([1, 2, 3])('are one each in a pool of %d threads', (threads) => {
    expect(poolBounds(64, threads)).toEqual({ bcrypt: 1, assertions: 1, writers: 1 });
  });

  it.each([
    [undefined, 4],
    ['', 4],
    ['none', 4],
    ['16', 16],
  ])('are those for a pool whose size is %s', (size, threads) => {
    expect(threadsOf(size)).toBe(threads);
  });
});

describe('work in the pool of threads', () => {
  /** Work that ends when the test says so. */
  function startWork(work: PoolWork, count: number) {
    const started: number[] = [];
    const ends = Array.from({ length: count }, () => Promise.withResolvers<number>());
    const outcomes = ends.map(({ promise }, number) =>
      work.run(() => {
        started.push(number);
        return promise;
      }),
    );
    return { started, ends, outcomes };
  }

  it('runs within its bound, and the rest waits, first in, first out', async () => {
    const work = new PoolWork('work', 2, 10);
    const { started, ends, outcomes } = startWork(work, 5);
    expect(started).toEqual([0, 1]);
    expect(work.load).toEqual({ running: 2, runningMax: 2, waiting: 3, waitingMax: 10 });
    ends[1]?.resolve(10);
    expect(await outcomes[1]).toBe(10);
    ends[0]?.resolve(0);
    await outcomes[0];
    expect(started).toEqual([0, 1, 2, 3]);
    for (const { resolve } of ends) resolve(1);
    await Promise.all(outcomes);
    expect(started).toEqual([0, 1, 2, 3, 4]);
    expect(work.load).toMatchObject({ running: 0, waiting: 0 });
  });

  it('that fails, or cannot even start, makes room for the next one', async () => {
    const work = new PoolWork('work', 1, 10);
    const failing = work.run(() => Promise.reject(new Error('it failed')));
    const throwing = work.run(() => {
      throw new Error('it threw');
    });
    const next = work.run(async () => 'done');
    await expect(failing).rejects.toThrow('it failed');
    await expect(throwing).rejects.toThrow('it threw');
    expect(await next).toBe('done');
    expect(work.load).toMatchObject({ running: 0, waiting: 0 });
  });

  it('is refused while too much waits, and only then', async () => {
    const work = new PoolWork('work', 1, 2);
    const { ends, outcomes } = startWork(work, 3);
    const refused = work.run(async () => 'never');
    await expect(refused).rejects.toThrow(DependencyUnavailable);
    for (const { resolve } of ends) resolve(1);
    expect(await Promise.all(outcomes)).toEqual([1, 1, 1]);
    expect(await work.run(async () => 'again')).toBe('again');
  });
});
