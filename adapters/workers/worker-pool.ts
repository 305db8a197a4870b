import { setTimeout as delay } from 'node:timers/promises';
import { type HealthCheck, type Readiness, statesOf } from '../../application/ports/health-check.ts';
import type { SharedPort, ShutdownMode } from '../../application/ports/processes.ts';
import type {
  FoundRefusals,
  MetricsSnapshot,
  ProcessFigures,
  RefusalQuery,
} from '../../application/ports/telemetry.ts';
import { HEARTBEAT_EVERY_MS } from './heartbeat.ts';
import type { WorkerAddress, WorkerPipe } from './protocol.ts';
import { worstHealth } from './worker-health.ts';
import type { WorkerProcess } from './worker-process.ts';

/** A worker that ends before this age is replaced after a delay, so that a fault at the start does not keep a core busy. */
const YOUNG_MS = 10_000;
const REPLACEMENT_DELAY_MS_MAX = 5_000;

/**
 * Milliseconds of its own time after which a worker that does not answer is killed. One with its own sockets is killed soon:
 * connections wait for it until then. Where all accept from one socket, another worker takes them.
 */
const HANGS_AFTER_MS = { ownSockets: 2_250, oneSocket: 10_000 };

/** Milliseconds in which more workers may not end than there are: from then on, some end again and again. */
const CRASH_LOOP_MS = 60_000;

/**
 * A scraper gives up after ten seconds. What the other processes answer does not wait that long for a worker that hangs, or, if
 * it is to open its files again, for its disk.
 */
const ANSWER_WITHIN_MS = 1_000;

export interface WorkerPoolParts {
  readonly size: number;
  /** Milliseconds of a planned shutdown in which workers still accept requests, and of every shutdown until one that has not ended is killed. */
  readonly graceMs: number;
  readonly exitMs: number;
  /** All workers. The pool adds and deletes them. */
  readonly workers: Set<WorkerProcess>;
  readonly fork: () => WorkerProcess;
  /** Throws the system's error if the port is in use. */
  readonly findPort: () => Promise<SharedPort>;
  /** Resolves when the worker could listen. */
  readonly start: (worker: WorkerProcess, port: SharedPort) => Promise<void>;
  /** Resolves when the worker has the current keys and listens. */
  readonly listen: (worker: WorkerProcess) => Promise<WorkerAddress>;
  /** Gets the changes of state of the workers, for the operator. */
  readonly log: { info(line: object): void; error(line: object): void };
  /** Milliseconds, of a clock that never goes back. */
  readonly now?: () => number;
}

/** Keeps a number of workers alive. */
export class WorkerPool implements HealthCheck {
  readonly name = 'workers';
  readonly #parts: WorkerPoolParts;
  #stopping = false;
  #endedYoung = 0;
  #reopenings = 0;
  /** Workers that hang and were killed. A process that the system holds ends later. */
  readonly #killed = new WeakSet<WorkerProcess>();
  /** When each worker began, and when the last ones ended: one more than there are. */
  readonly #began = new WeakMap<WorkerProcess, number>();
  readonly #ends: number[] = [];
  readonly #now: () => number;
  #heartbeat: NodeJS.Timeout | undefined;
  #port: SharedPort | undefined;

  constructor(parts: WorkerPoolParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /** How many workers accept requests. */
  get listening(): number {
    return [...this.#parts.workers].filter((worker) => worker.listening).length;
  }

  /** Resolves when all workers could listen. Rejects with the reason of the first that cannot. Call `stop` then. */
  async start(): Promise<void> {
    const { size, workers, fork, start, findPort } = this.#parts;
    const port = await findPort();
    this.#port = port;
    for (let count = 0; count < size; count += 1) workers.add(fork());
    await this.#ofEach((worker) => start(worker, port));
  }

  /** Resolves when all workers listen. Otherwise as above. */
  async listen(): Promise<WorkerAddress> {
    // Once more: a service that has begun to listen since then would share the port, and each would refuse the other's tokens.
    await this.#parts.findPort();
    const [first] = await this.#ofEach(this.#parts.listen);
    const port = this.#port;
    if (first === undefined || port === undefined) throw new Error('a service needs a worker that has started');
    for (const worker of this.#parts.workers) void this.#watch(worker);
    // Timers come before messages: after a time in which this process did not run, the answers are read first.
    this.#heartbeat = setInterval(() => setImmediate(() => this.#sendHeartbeats(port)), HEARTBEAT_EVERY_MS);
    return first;
  }

  readiness(): Readiness {
    const { listening } = this;
    if (listening === 0) return { ready: false, reason: 'no worker listens' };
    const { size } = this.#parts;
    if (this.#endAgainAndAgain()) return { ready: false, reason: 'workers end again and again' };
    return listening === size ? { ready: true } : { ready: true, note: `${listening} of ${size} workers listen` };
  }

  /** The pool itself, and each dependency in the worst state that a worker or, by `own`, this process has. */
  healthChecks(own: readonly HealthCheck[]): readonly HealthCheck[] {
    return [this, ...worstHealth([statesOf(own), ...[...this.#parts.workers].map(({ health }) => health)])];
  }

  /** The process ids of all workers. */
  processIds(): readonly number[] {
    return [...this.#parts.workers].flatMap(({ processId }) => processId ?? []);
  }

  /** Resolves when every worker has the current keys. */
  async sendKeys(): Promise<void> {
    await Promise.all([...this.#parts.workers].map((worker) => worker.sendKeys()));
  }

  /** The metrics of each worker by its id; undefined for one that does not answer in time. */
  metrics(): Promise<ReadonlyMap<number, MetricsSnapshot | undefined>> {
    return this.#askAll((pipe) => pipe.metrics());
  }

  /** What the status shows of each worker, in the same way. */
  figures(): Promise<ReadonlyMap<number, ProcessFigures | undefined>> {
    return this.#askAll((pipe) => pipe.figures());
  }

  /** The refusals of all workers, and whether each of them has answered in time. */
  async findRefusals(query: RefusalQuery): Promise<FoundRefusals> {
    const asked = await this.#askAll((pipe) => pipe.findRefusals(query));
    const answers = [...asked.values()];
    return { records: answers.flatMap((records) => records ?? []), complete: !answers.includes(undefined) };
  }

  /** Every worker, and whether it accepts requests. */
  states(): readonly { readonly id: number; readonly listening: boolean }[] {
    return [...this.#parts.workers].map(({ id, listening }) => ({ id, listening }));
  }

  /** How often files were opened again. A worker that starts meanwhile may have opened the old ones. */
  get reopenings(): number {
    return this.#reopenings;
  }

  /** Opens the log files of all workers again. Resolves with the number of workers that could. */
  async reopenFiles(): Promise<number> {
    this.#reopenings += 1;
    const reopened = await this.#askAll((pipe) => pipe.reopenFiles());
    return [...reopened.values()].filter(Boolean).length;
  }

  /** Lets all workers finish the requests in flight. Kills those that have not ended in time. */
  async stop(mode: ShutdownMode): Promise<void> {
    const { graceMs, exitMs } = this.#parts;
    const withinMs = (mode === 'planned' ? graceMs : 0) + exitMs;
    this.#stopping = true;
    clearInterval(this.#heartbeat);
    const workers = [...this.#parts.workers];
    for (const worker of workers) worker.stop(mode);
    const timer = setTimeout(() => {
      for (const worker of this.#parts.workers) worker.kill();
    }, withinMs);
    await Promise.all(workers.map((worker) => worker.ended));
    clearTimeout(timer);
  }

  /** What each worker answers, by its id; undefined for one that does not in time. */
  async #askAll<Answer>(call: (pipe: WorkerPipe) => Promise<Answer>): Promise<ReadonlyMap<number, Answer | undefined>> {
    const answers = [...this.#parts.workers].map(async (worker) => {
      return [worker.id, await worker.ask(call, ANSWER_WITHIN_MS)] as const;
    });
    return new Map(await Promise.all(answers));
  }

  #ofEach<Outcome>(step: (worker: WorkerProcess) => Promise<Outcome>): Promise<Outcome[]> {
    const stepOf = (worker: WorkerProcess) => {
      const ended = worker.ended.then(({ code, signal }) => {
        throw new Error(`a worker ended before it listened (${signal ?? code})`);
      });
      return Promise.race([step(worker), ended]);
    };
    return Promise.all([...this.#parts.workers].map(stepOf));
  }

  #sendHeartbeats({ reusePort }: SharedPort): void {
    if (this.#stopping) return;
    const withinMs = reusePort ? HANGS_AFTER_MS.ownSockets : HANGS_AFTER_MS.oneSocket;
    for (const worker of this.#parts.workers) {
      if (!worker.listening || this.#killed.has(worker) || !worker.hangs(withinMs)) continue;
      this.#killed.add(worker);
      this.#parts.log.error({ event: 'worker_hangs', worker: worker.id });
      worker.kill();
    }
  }

  /** Whether too many have ended in the last minute, and no more than half of the workers are older than that. */
  #endAgainAndAgain(): boolean {
    const { size, workers } = this.#parts;
    const before = this.#now() - CRASH_LOOP_MS;
    const [first = before] = this.#ends;
    const older = [...workers].filter((worker) => (this.#began.get(worker) ?? Infinity) <= before);
    return this.#ends.length > size && first > before && older.length * 2 <= size;
  }

  async #watch(worker: WorkerProcess): Promise<void> {
    const began = this.#now();
    this.#began.set(worker, began);
    const exit = await worker.ended;
    this.#parts.workers.delete(worker);
    if (this.#stopping) return;
    this.#parts.log.error({ event: 'worker_ended', worker: worker.id, ...exit });
    this.#endedYoung = this.#now() - began < YOUNG_MS ? this.#endedYoung + 1 : 0;
    if (this.#ends.push(this.#now()) > this.#parts.size + 1) this.#ends.shift();
    await this.#backOff();
    await this.#replace();
  }

  /** Tries until a new worker runs or the service stops. */
  async #replace(): Promise<void> {
    const { fork, start, listen, log } = this.#parts;
    const port = this.#port;
    while (!this.#stopping && port !== undefined) {
      let worker: WorkerProcess | undefined;
      try {
        worker = fork();
        this.#parts.workers.add(worker);
        void this.#watch(worker);
        await Promise.race([start(worker, port).then(() => worker && listen(worker)), worker.ended]);
        if (worker.listening) log.info({ event: 'worker_replaced', worker: worker.id });
        return;
      } catch (fault) {
        log.error({ event: 'worker_failed', worker: worker?.id, fault });
        // A running process is replaced when it has ended. Where the system started none, the loop tries again.
        if (worker !== undefined) return worker.kill();
        this.#endedYoung += 1;
        await this.#backOff();
      }
    }
  }

  async #backOff(): Promise<void> {
    if (this.#endedYoung > 0) await delay(Math.min(REPLACEMENT_DELAY_MS_MAX, 50 * 2 ** this.#endedYoung));
  }
}
