import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { HEARTBEAT_EVERY_MS } from '../../../adapters/workers/heartbeat.ts';
import { WorkerPool, type WorkerPoolParts } from '../../../adapters/workers/worker-pool.ts';
import type { WorkerProcess } from '../../../adapters/workers/worker-process.ts';
import { createLogBuffer } from '../../support/log-buffer.ts';
import { until } from '../../support/until.ts';

const opened: WorkerPool[] = [];
const started: (() => void)[] = [];
afterEach(async () => {
  for (const pool of opened.splice(0)) {
    const stopped = pool.stop('immediate');
    for (const die of started.splice(0)) die();
    await stopped;
  }
});

/** The part of a worker that the pool uses, without a process. */
function fakeWorker(id: number, more: Partial<Pick<WorkerProcess, 'hangs' | 'kill'>> = {}) {
  const { promise: ended, resolve: end } = Promise.withResolvers<{ code: number; signal: null }>();
  const die = () => end({ code: 1, signal: null });
  started.push(die);
  const worker = { id, ended, listening: true, kill: die, stop: die, hangs: () => false, ...more };
  return { worker: worker as unknown as WorkerProcess, die };
}

const WHERE = { address: '127.0.0.1', port: 1 };

function world(fork: WorkerPoolParts['fork'], more: Partial<WorkerPoolParts> = {}) {
  const { log, lines } = createLogBuffer();
  const workers = new Set<WorkerProcess>();
  const pool = new WorkerPool({
    size: 2,
    graceMs: 0,
    exitMs: 1_000,
    workers,
    log,
    fork,
    findPort: async () => ({ port: 1, reusePort: true }),
    start: async () => {},
    listen: async () => WHERE,
    ...more,
  });
  opened.push(pool);
  return { pool, workers, events: () => lines().map(({ event }) => event) };
}

describe('WorkerPool', () => {
  it('tries again if the replacement of a worker cannot be started', async () => {
    const workers = [1, 2, 3].map((id) => fakeWorker(id));
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
    await pool.listen();
    workers[0]?.die();
    await until(() => events().includes('worker_replaced'), 'the worker is replaced');
    expect(events()).toEqual(['worker_ended', 'worker_failed', 'worker_replaced']);
    expect([...alive].map(({ id }) => id)).toEqual([2, 3]);
  });

  it('does not listen on a port that another service has taken since the workers started', async () => {
    let looked = 0;
    const findPort = async () => {
      looked += 1;
      if (looked === 2) throw new Error('EADDRINUSE');
      return { port: 1, reusePort: true };
    };
    let listening = 0;
    const listen = async () => {
      listening += 1;
      return WHERE;
    };
    const { pool } = world(() => fakeWorker(1).worker, { size: 1, findPort, listen });
    await pool.start();
    await expect(pool.listen()).rejects.toThrow('EADDRINUSE');
    expect(listening).toBe(0);
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
    await pool.stop('immediate');
    expect(await first.worker.ended).toEqual({ code: 1, signal: null });
  });

  it('lets no worker listen before all have started, and none that ended meanwhile', async () => {
    const [first, second] = [fakeWorker(1), fakeWorker(2)];
    const rest = [first, second];
    const steps: string[] = [];
    const { pool } = world(() => rest.shift()?.worker ?? fakeWorker(3).worker, {
      start: async ({ id }) => void steps.push(`start ${id}`),
      // A worker that has ended does not answer.
      listen: ({ id }) => (id === 2 ? new Promise(() => {}) : Promise.resolve(WHERE)),
    });
    await pool.start();
    expect(steps).toEqual(['start 1', 'start 2']);
    second.die();
    await expect(pool.listen()).rejects.toThrow('a worker ended before it listened (1)');
    await pool.stop('immediate');
    expect(await first.worker.ended).toEqual({ code: 1, signal: null });
  });

  it('lets the replacement of a worker listen when it has started, with the keys of that moment', async () => {
    const workers = [1, 2, 3].map((id) => fakeWorker(id));
    const rest = [...workers];
    const steps: string[] = [];
    const { pool, events } = world(() => rest.shift()?.worker ?? fakeWorker(4).worker, {
      start: async ({ id }) => void steps.push(`start ${id}`),
      listen: async ({ id }) => {
        steps.push(`listen ${id}`);
        return WHERE;
      },
    });
    await pool.start();
    await pool.listen();
    workers[0]?.die();
    await until(() => events().includes('worker_replaced'), 'the worker is replaced');
    expect(steps).toEqual(['start 1', 'start 2', 'listen 1', 'listen 2', 'start 3', 'listen 3']);
  });

  describe('whose workers end again and again', () => {
    let nowMs = 0;
    const crashing = async (size: number) => {
      nowMs = 0;
      const forked: { readonly die: () => void }[] = [];
      const fork = () => {
        const fake = fakeWorker(forked.length + 1);
        forked.push(fake);
        return fake.worker;
      };
      const { pool } = world(fork, { size, now: () => nowMs });
      await pool.start();
      await pool.listen();
      const endNewest = async () => {
        const { length } = forked;
        forked.at(-1)?.die();
        await until(() => forked.length > length, 'it is replaced');
      };
      return { pool, endNewest };
    };
    const NOT_READY = { ready: false, reason: 'workers end again and again' };

    it('is not ready once more have ended in a minute than there are, and is ready when a minute has passed', async () => {
      const { pool, endNewest } = await crashing(2);
      for (const _ of [1, 2]) await endNewest();
      expect(pool.readiness()).toEqual({ ready: true });
      nowMs = 59_999;
      await endNewest();
      expect(pool.readiness()).toEqual(NOT_READY);
      nowMs = 60_000;
      expect(pool.readiness()).toEqual({ ready: true });
    });

    it('stays ready while more than half of them go on', async () => {
      const { pool, endNewest } = await crashing(3);
      for (const _ of [1, 2, 3]) await endNewest();
      nowMs = 59_000;
      await endNewest();
      expect(pool.readiness()).toEqual(NOT_READY);
      // Two have never ended. These deaths alone would be too many.
      nowMs = 120_000;
      for (const _ of [1, 2, 3, 4]) await endNewest();
      expect(pool.readiness()).toEqual({ ready: true });
    });
  });

  it('reports a worker that hangs once, however long its process takes to end, and kills it', async () => {
    let kills = 0;
    const hanging = fakeWorker(1, {
      hangs: () => true,
      kill: () => {
        kills += 1;
      },
    });
    let beats = 0;
    const other = fakeWorker(2, {
      hangs: () => {
        beats += 1;
        return false;
      },
    });
    const replacement = fakeWorker(3, { hangs: () => true });
    const workers = [hanging, other, replacement];
    const { pool, events } = world(() => {
      const next = workers.shift();
      if (next === undefined) throw new Error('no more workers');
      return next.worker;
    });
    await pool.start();
    await pool.listen();
    await until(() => beats >= 4, 'four heartbeats');
    expect(events()).toEqual(['worker_hangs']);
    expect(kills).toBe(1);
    hanging.die();
    await until(() => events().filter((event) => event === 'worker_hangs').length === 2, 'its replacement is reported');
  });

  it('reads the answers that are there before it looks for one, after a time in which it did not run', async () => {
    const { port1, port2 } = new MessageChannel();
    let isAnswered = false;
    port1.on('message', () => {
      isAnswered = true;
    });
    const looks: boolean[] = [];
    const look = () => {
      looks.push(isAnswered);
      return false;
    };
    const workers = [fakeWorker(1, { hangs: look }), fakeWorker(2, { hangs: look })];
    const { pool } = world(() => {
      const next = workers.shift();
      if (next === undefined) throw new Error('no more workers');
      return next.worker;
    });
    await pool.start();
    await pool.listen();
    // The event loop runs its timers next, and only then reads.
    await new Promise(setImmediate);
    port2.postMessage('an answer');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * HEARTBEAT_EVERY_MS);
    await until(() => looks.length > 0, 'it has looked');
    port1.close();
    expect(looks[0]).toBe(true);
  });
});
