import { describe, expect, it } from '@jest/globals';
import { WorkerTotals } from '../../application/worker-totals.ts';

describe('WorkerTotals', () => {
  it('does not grow with the number of workers that have ended', async () => {
    let worker = 0;
    const ask = async () => {
      worker += 1;
      return new Map([[worker, { requests: 2 }]]);
    };
    const totals = new WorkerTotals({
      ask,
      totalsOf: ({ requests }) => requests,
      add: (one: number, other: number) => one + other,
    });
    expect((await totals.read()).totals).toEqual([2]);
    for (let ended = 1; ended <= 20; ended += 1) expect((await totals.read()).totals).toEqual([2 * ended, 2]);
  });

  it('does not take a worker for ended that an earlier reading did not know', async () => {
    const early = Promise.withResolvers<ReadonlyMap<number, number>>();
    const answers = [early.promise, new Map([[1, 3]]), new Map([[1, 4]])];
    const totals = new WorkerTotals({
      ask: async () => (await answers.shift()) ?? new Map<number, number>(),
      totalsOf: (requests) => requests,
      add: (one: number, other: number) => one + other,
    });
    const first = totals.read();
    expect((await totals.read()).totals).toEqual([3]);
    early.resolve(new Map());
    expect((await first).totals).toEqual([3]);
    expect((await totals.read()).totals).toEqual([4]);
  });
});
