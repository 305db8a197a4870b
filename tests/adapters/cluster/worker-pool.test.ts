import { describe, expect, it } from '@jest/globals';
import { WorkerPool, type WorkerPoolParts } from '../../../adapters/cluster/worker-pool.ts';
import type { WorkerProcess } from '../../../adapters/cluster/worker-process.ts';
import { createLogBuffer } from '../../support/log-buffer.ts';
import { until } from '../../support/until.ts';

/** The part of a worker that the pool uses, without a process. */
function fakeWorker(id: number) {
  const { promise: ended, resolve: end } = Promise.withResolvers<{ code: number; signal: null }>();
  const die = () => end({ code: 1, signal: null });
  const worker = { id, ended, listening: true, kill: die, stop: die, hangs: () => false };
  return { worker: worker as unknown as WorkerProcess, die };
}

const WHERE = { address: '127.0.0.1', port: 1 };

function world(fork: WorkerPoolParts['fork']) {
  const { log, lines } = createLogBuffer();
  const workers = new Set<WorkerProcess>();
  const pool = new WorkerPool({
    size: 2,
    workers,
    log,
    fork,
    findPort: async () => ({ port: 1, reusePort: true }),
    start: async () => WHERE,
    sendKeys: async () => {},
  });
  return { pool, workers, events: () => lines().map(({ event }) => event) };
}

describe('WorkerPool', () => {
  it('tries again if the replacement of a worker cannot be started', async () => {
    const workers = [1, 2, 3].map(fakeWorker);
    let forks = 0;
    const {
      pool,
      workers: alive,
      events,
    } = world(() => {
      forks += 1;
      if (forks === 3) throw new Error('ENOMEM');
      const next = workers[forks > 3 ? 2 : forks - 1];
      if (next === undefined) throw new Error('no more workers');
      return next.worker;
    });
    await pool.start();
    workers[0]?.die();
    await until(() => events().includes('worker_replaced'), 'the worker is replaced');
    expect(events()).toEqual(['worker_ended', 'worker_failed', 'worker_replaced']);
    expect([...alive].map(({ id }) => id)).toEqual([2, 3]);
    await pool.stop('immediate', 1_000);
  });

  it('leaves no worker behind if one of the first cannot be started', async () => {
    const first = fakeWorker(1);
    let forks = 0;
    const { pool } = world(() => {
      forks += 1;
      if (forks > 1) throw new Error('EAGAIN');
      return first.worker;
    });
    await expect(pool.start()).rejects.toThrow('EAGAIN');
    expect(await first.worker.ended).toEqual({ code: 1, signal: null });
  });
});
