import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import type { CheckState } from '../../application/ports/health-check.ts';
import type { ShutdownMode } from '../../application/ports/processes.ts';
import type { VerificationSlots } from '../../application/ports/verification-slots.ts';
import { Heartbeat, readCpuUse } from './heartbeat.ts';
import {
  connectToWorker,
  type PrimaryFunctions,
  type SentIssuerKeys,
  type SentKeys,
  type WorkerAddress,
  type WorkerPipe,
  type WorkerStart,
} from './protocol.ts';
import { SlotsForWorker } from './remote-verification-slots.ts';

/**
 * Megabytes of one half of the heap for young objects; Node.js takes three halves of up to 16. A flood of requests fills
 * them all, in each worker. With 16, a token from PostgreSQL costs 2 % less; with 4, it costs 4 % more. A flag of the primary wins.
 */
const YOUNG_HEAP_MB = 8;

/**
 * When a worker collects the heap for old objects: for the first time at so many megabytes, and then each time it has grown
 * by so many percent of what is in use. On a machine with much memory V8 lets it reach 256 MB first, and then grow
 * severalfold: a flood made two workers need 560 MB. With these values no flood of the benchmark needs more than 455 MB.
 */
const OLD_HEAP = ['--initial-old-space-size=48', '--heap-growing-percent=30'];

/** What the primary does for its workers. */
interface WorkerServices extends Pick<PrimaryFunctions, 'useAssertions' | 'answerRoute' | 'costFound'> {
  readonly slots: VerificationSlots;
  /** The keys now. */
  readonly keys: () => SentKeys;
  /** Looks up a key id, for `keys`. Throws DependencyUnavailable. */
  readonly lookUpKey: (kid: string) => Promise<unknown>;
  /** All workers, including this one. Each verified secret is sent to all others. */
  readonly workers: Iterable<WorkerProcess>;
}

/** One worker, seen from the primary. */
export class WorkerProcess {
  readonly id: number;
  /** Resolves when the process has ended, with its exit code or the signal that ended it. Never rejects. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly #worker: Worker;
  readonly #pipe: WorkerPipe;
  readonly #services: WorkerServices;
  #health: readonly CheckState[] = [];
  #started = false;
  #listening = false;
  #heartbeat: Heartbeat | undefined;

  private constructor(worker: Worker, services: WorkerServices) {
    this.id = worker.id;
    this.#worker = worker;
    this.#services = services;
    const slots = new SlotsForWorker(services.slots, (id) => this.#pipe.isRegistered(id));
    this.#pipe = connectToWorker(
      {
        send: (message) => void (worker.isConnected() && worker.send(message as object)),
        onMessage: (listener) => worker.on('message', listener),
      },
      {
        ...slots,
        useAssertions: services.useAssertions,
        findKey: async (kid) => {
          await services.lookUpKey(kid);
          await this.#pipe.takeKeys(services.keys());
        },
        answerRoute: services.answerRoute,
        secretVerified: (secret) => {
          for (const other of services.workers) if (other !== this) other.#pipe.cacheSecret(secret).catch(ignore);
        },
        costFound: services.costFound,
        health: (states) => {
          this.#health = states;
        },
      },
    );
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null) => {
        this.#listening = false;
        slots.close();
        this.#pipe.$close();
        resolve({ code, signal });
      };
      worker.once('exit', end);
      // Usually a message could not be sent, because the worker has ended: its 'exit' event follows. There is no such
      // event for a process that the system could not start.
      worker.on('error', () => worker.process.pid === undefined && end(null, null));
    });
  }

  /** Starts the process, which then waits for `start`. Throws the system's error where it cannot fork. */
  static fork(file: string, environment: NodeJS.ProcessEnv, services: WorkerServices): WorkerProcess {
    // Without `reusePort`, all workers accept from one socket. The primary holds no connection: one that it passed on to a worker
    // that has died would stay open.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    const heap = [`--max-semi-space-size=${YOUNG_HEAP_MB}`, ...OLD_HEAP];
    const execArgv = [...heap, ...process.execArgv];
    cluster.setupPrimary({ exec: file, args: [], execArgv, serialization: 'advanced' });
    return new WorkerProcess(cluster.fork(environment), services);
  }

  /** Undefined if the system could not start it. */
  get processId(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Whether it accepts requests. */
  get listening(): boolean {
    return this.#listening;
  }

  /** The state of its dependencies, as it last reported them. */
  get health(): readonly CheckState[] {
    return this.#health;
  }

  /** Resolves when it could listen. Throws with the reason where it cannot. */
  async start(start: WorkerStart): Promise<void> {
    await this.#pipe.start(start);
    this.#started = true;
  }

  /** Resolves when it listens. Throws with the reason where it cannot. */
  async listen(): Promise<WorkerAddress> {
    const address = await this.#pipe.listen();
    this.#listening = true;
    return address;
  }

  /** Sends a heartbeat. Returns whether the worker hangs: it has not answered for so many milliseconds of its own time. */
  hangs(withinMs: number): boolean {
    this.#heartbeat ??= new Heartbeat({
      ping: () => this.#pipe.ping(),
      cpuUse: () => readCpuUse(this.#worker.process.pid),
      withinMs,
      now: () => performance.now(),
    });
    return this.#heartbeat.beat();
  }

  /** Its answer to a question; undefined if it has not started, has ended, or does not answer within that many milliseconds. */
  async ask<Answer>(call: (pipe: WorkerPipe) => Promise<Answer>, withinMs: number): Promise<Answer | undefined> {
    if (!this.#started) return undefined;
    const late = delay(withinMs, undefined, { ref: false });
    return Promise.race([call(this.#pipe), late]).catch(() => undefined);
  }

  /** Resolves when it has the current keys or has ended. */
  sendKeys(): Promise<void> {
    return this.#pipe.takeKeys(this.#services.keys()).catch(ignore);
  }

  sendIssuerKeys(sets: SentIssuerKeys): void {
    this.#pipe.takeIssuerKeys(sets).catch(ignore);
  }

  sendCost(cost: number): void {
    this.#pipe.includeCost(cost).catch(ignore);
  }

  /** Lets it finish the requests in flight and end. */
  stop(mode: ShutdownMode): void {
    this.#pipe.stop(mode).catch(ignore);
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }
}

/** A call is rejected when the worker ends, which `ended` reports. */
function ignore(): void {}
