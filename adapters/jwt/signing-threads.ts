import type { KeyObject } from 'node:crypto';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';

/** Beside this file, with the same extension: compiled or not. */
const THREAD_FILE = new URL(`signing-thread${extname(import.meta.filename)}`, import.meta.url);

/** Signatures that a thread makes for one message: by RSA, in about 5 ms. */
const BATCH_SIZE = 16;

/** Signatures that may wait: twice as many as requests may be in progress. */
export const SIGNATURES_WAITING_MAX = 2_000;

/** Megabytes. A thread keeps nothing from one batch to the next. */
const HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };

/** A private key, and what it signs by. The thread gets a reference to the key, and nothing exports it. */
export interface PrivateKey {
  readonly alg: TokenAlgorithm;
  readonly key: KeyObject;
}

/** What a thread is sent. It answers with the signatures, in order. */
export interface Batch extends PrivateKey {
  readonly inputs: readonly string[];
}

interface Job extends PromiseWithResolvers<string> {
  readonly by: PrivateKey;
  readonly input: string;
}

interface Thread {
  /** Undefined before it is started, and after it has ended. */
  worker: Worker | undefined;
  /** The batch that it signs. */
  jobs: readonly Job[];
}

/**
 * Threads that make expensive signatures, first in, first out. What the event loop has read is processed first, and joins a batch: a
 * message for each signature would cost the event loop as much as the rest of a token, and the code of RSA stays in the
 * processor's caches (decision 0209). A thread that ends fails its batch, and is started again for the next one. None keeps
 * the process alive while it has nothing to sign.
 */
export class SigningThreads {
  readonly #file: URL;
  readonly #threads: readonly Thread[];
  #waiting: Job[] = [];
  #isScheduled = false;
  #isClosed = false;

  /** @param file what a thread runs; tests have others. */
  constructor(count: number, file = THREAD_FILE) {
    this.#file = file;
    this.#threads = Array.from({ length: count }, () => ({ worker: undefined, jobs: [] }));
  }

  /** Signatures that wait for a thread. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Starts the threads ahead of the first signature. */
  start(): void {
    for (const thread of this.#threads) thread.worker ??= this.#startWorker(thread);
  }

  /**
   * The signature of a JWS over this signing input, in base64url. Throws DependencyUnavailable if too many wait, or if the thread ends.
   */
  async sign(by: PrivateKey, input: string): Promise<string> {
    if (this.#isClosed) throw unavailable('the service stops');
    if (this.#waiting.length >= SIGNATURES_WAITING_MAX) throw unavailable('too many signatures wait');
    const job = { by, input, ...Promise.withResolvers<string>() };
    this.#waiting.push(job);
    this.#schedule();
    return job.promise;
  }

  /** Ends the threads. Refuses the signatures that wait, and new ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting) reject(unavailable('the service stops'));
    this.#waiting = [];
    await Promise.all(this.#threads.map(({ worker }) => worker?.terminate()));
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendBatches();
    });
  }

  /** Divides what waits among the threads that have nothing to sign. */
  #sendBatches(): void {
    const idle = this.#threads.filter(({ jobs }) => jobs.length === 0);
    for (const [position, thread] of idle.entries()) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      const others = this.#waiting.findIndex(({ by }) => by !== first.by);
      const share = Math.ceil(this.#waiting.length / (idle.length - position));
      const count = Math.min(BATCH_SIZE, share, others === -1 ? Infinity : others);
      this.#send(thread, first.by, this.#waiting.splice(0, count));
    }
  }

  #send(thread: Thread, by: PrivateKey, jobs: readonly Job[]): void {
    thread.jobs = jobs;
    try {
      thread.worker ??= this.#startWorker(thread);
      thread.worker.ref();
      thread.worker.postMessage({ ...by, inputs: jobs.map(({ input }) => input) } satisfies Batch);
    } catch (fault) {
      this.#fail(thread, fault);
    }
  }

  /** Throws the system's error where it has no more threads. */
  #startWorker(thread: Thread): Worker {
    const worker = new Worker(this.#file, { name: 'signing', execArgv: [], env: {}, resourceLimits: HEAP });
    worker.unref();
    let cause: unknown = 'a signing thread has ended';
    worker.on('message', (signatures: readonly string[]) => {
      const { jobs } = thread;
      thread.jobs = [];
      worker.unref();
      this.#sendBatches();
      for (const [index, { resolve }] of jobs.entries()) resolve(signatures[index] as string);
    });
    worker.on('error', (fault) => {
      cause = fault;
    });
    worker.on('exit', () => {
      thread.worker = undefined;
      this.#fail(thread, cause);
    });
    return worker;
  }

  #fail(thread: Thread, cause: unknown): void {
    for (const { reject } of thread.jobs) reject(unavailable(cause));
    thread.jobs = [];
    this.#schedule();
  }
}

function unavailable(cause: unknown): DependencyUnavailable {
  return new DependencyUnavailable('signing threads', typeof cause === 'string' ? new Error(cause) : cause);
}
