import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { HealthCheck } from '../../application/ports/health-check.ts';
import type { WorkerProcess } from './worker-process.ts';

/** A worker that ended younger than this is replaced after a while only, lest a fault at the start keeps a core busy. */
const YOUNG_MS = 10_000;
const REPLACED_AFTER_MS_MAX = 5_000;

/** How often each worker is asked for a sign of life, and how many it may owe: one whose event loop stands still for ten seconds is lost. */
const PULSE_EVERY_MS = 2_000;
const PULSES_OWED_MAX = 5;

export interface WorkerPoolParts {
  readonly size: number;
  readonly fork: () => WorkerProcess;
  /** Resolves when the worker listens. */
  readonly start: (worker: WorkerProcess) => Promise<{ readonly address: string; readonly port: number }>;
  readonly log: Logger;
}

/** Keeps as many workers alive as there shall be. */
export class WorkerPool implements HealthCheck {
  readonly name = 'workers';
  readonly #parts: WorkerPoolParts;
  readonly #workers = new Set<WorkerProcess>();
  #stopping = false;
  #endedYoung = 0;
  #pulse: NodeJS.Timeout | undefined;

  constructor(parts: WorkerPoolParts) {
    this.#parts = parts;
  }

  get workers(): ReadonlySet<WorkerProcess> {
    return this.#workers;
  }

  /** Resolves when all listen. Rejects with the reason of the first that cannot, and leaves none behind. */
  async start(): Promise<{ readonly address: string; readonly port: number }> {
    const { size, fork, start } = this.#parts;
    const forked: WorkerProcess[] = [];
    try {
      for (let count = 0; count < size; count += 1) {
        const worker = fork();
        forked.push(worker);
        this.#workers.add(worker);
      }
      const [first] = await Promise.all(
        forked.map(async (worker) => {
          const ended = worker.ended.then(({ code, signal }) => {
            throw new Error(`a worker ended before it listened (${signal ?? code})`);
          });
          return Promise.race([start(worker), ended]);
        }),
      );
      if (first === undefined) throw new Error('a service needs a worker');
      for (const worker of forked) void this.#watch(worker, performance.now());
      this.#pulse = setInterval(() => this.#killTheLost(), PULSE_EVERY_MS);
      return first;
    } catch (problem) {
      this.#stopping = true;
      for (const worker of forked) worker.kill();
      await Promise.all(forked.map((worker) => worker.ended));
      throw problem;
    }
  }

  readiness(): ReturnType<HealthCheck['readiness']> {
    const listening = [...this.#workers].filter((worker) => worker.listening).length;
    if (listening === 0) return { ready: false, reason: 'no worker listens' };
    return listening === this.#parts.size
      ? { ready: true }
      : { ready: true, note: `${listening} of ${this.#parts.size} workers listen` };
  }

  /** Has all workers end what is in flight. Those that are not done in time are killed. */
  async stop(manner: 'planned' | 'at once', withinMs: number): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#pulse);
    const workers = [...this.#workers];
    for (const worker of workers) worker.stop(manner);
    const timer = setTimeout(() => {
      for (const worker of this.#workers) worker.kill();
    }, withinMs);
    await Promise.all(workers.map((worker) => worker.ended));
    clearTimeout(timer);
  }

  #killTheLost(): void {
    for (const worker of this.#workers) {
      if (!worker.listening || worker.feelPulse() < PULSES_OWED_MAX) continue;
      this.#parts.log.error({ event: 'worker_hangs', worker: worker.id });
      worker.kill();
    }
  }

  async #watch(worker: WorkerProcess, since: number): Promise<void> {
    const end = await worker.ended;
    this.#workers.delete(worker);
    if (this.#stopping) return;
    this.#parts.log.error({ event: 'worker_ended', worker: worker.id, ...end });
    this.#endedYoung = performance.now() - since < YOUNG_MS ? this.#endedYoung + 1 : 0;
    await this.#pause();
    await this.#replace();
  }

  /** Until there is a new one, or none is wanted any more. */
  async #replace(): Promise<void> {
    const { fork, start, log } = this.#parts;
    while (!this.#stopping) {
      const since = performance.now();
      let worker: WorkerProcess | undefined;
      try {
        worker = fork();
        this.#workers.add(worker);
        void this.#watch(worker, since);
        await Promise.race([start(worker), worker.ended]);
        if (worker.listening) log.info({ event: 'worker_replaced', worker: worker.id });
        return;
      } catch (fault) {
        log.error({ event: 'worker_failed', worker: worker?.id, fault });
        // One that began is replaced when it has ended; of one that did not, nothing comes any more.
        if (worker !== undefined) return worker.kill();
        this.#endedYoung += 1;
        await this.#pause();
      }
    }
  }

  async #pause(): Promise<void> {
    if (this.#endedYoung > 0) await delay(Math.min(REPLACED_AFTER_MS_MAX, 50 * 2 ** this.#endedYoung));
  }
}
