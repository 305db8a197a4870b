import type { SignKeyObjectInput } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

/**
 * What a thread runs. It has no file, so that it is the same compiled and not, and starts without the modules of the
 * service. The key comes with each batch, so a thread cannot sign with an old one.
 */
const THREAD = `
  const { sign } = require('node:crypto');
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', ({ by, inputs }) => {
    const signatures = inputs.map((input) => sign('sha256', Buffer.from(input, 'latin1'), by));
    parentPort.postMessage(signatures.map((signature) => signature.toString('base64url')));
  });
`;

/** Megabytes. A thread keeps nothing from one batch to the next. */
const HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

/** In the log. */
const NAME = 'signing threads';

/** Signatures that a thread makes for one message: with a key of 2,048 bits, in about 5 ms. */
const BATCH_SIZE = 16;

/** Signatures that may wait: twice as many as requests may be in progress. */
export const SIGNATURES_WAITING_MAX = 2_000;

/** Milliseconds after which no further signature may wait behind one: its caller would have lost patience. */
const WAITED_MS_MAX = 1_000;

interface Job extends PromiseWithResolvers<string> {
  readonly by: SignKeyObjectInput;
  readonly input: string;
  /** In milliseconds of a clock that nobody sets. */
  readonly since: number;
}

interface Thread {
  /** Undefined before it is started, and after it has ended. */
  worker: Worker | undefined;
  /** The batch that it signs. */
  jobs: readonly Job[];
}

/**
 * Threads that make signatures by RSA, first in, first out. A batch has what the event loop has read in one pass: a message
 * for each signature would cost the event loop as much as the rest of a token (decision 0209). A thread that ends fails its
 * batch, and is started again for the next one. None keeps the process alive while it has nothing to sign.
 */
export class SigningThreads {
  readonly #code: string;
  readonly #now: () => number;
  readonly #threads: readonly Thread[];
  #waiting: Job[] = [];
  #isScheduled = false;
  #isClosed = false;

  /**
   * @param code what a thread runs.
   * @param now milliseconds of a clock that nobody sets.
   */
  constructor(count: number, code = THREAD, now = () => performance.now()) {
    this.#code = code;
    this.#now = now;
    this.#threads = Array.from({ length: count }, () => ({ worker: undefined, jobs: [] }));
  }

  /** Signatures that wait for a thread, at most {@link SIGNATURES_WAITING_MAX}. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Starts the threads ahead of the first signature. Throws the system's error where it has no more threads. */
  start(): void {
    for (const thread of this.#threads) thread.worker ??= this.#startWorker(thread);
  }

  /**
   * The signature over this signing input of a JWS by SHA-256, in base64url.
   *
   * @param by the key and its padding. A thread gets a reference to the key, and nothing exports it.
   * @throws DependencyUnavailable if too many signatures wait, or for too long, the thread ends, or the service stops.
   */
  async sign(by: SignKeyObjectInput, input: string): Promise<string> {
    if (this.#isClosed) throw unavailable('the service stops');
    if (this.#waiting.length >= SIGNATURES_WAITING_MAX) throw unavailable('too many signatures wait');
    const since = this.#now();
    if (since - (this.#waiting[0]?.since ?? since) > WAITED_MS_MAX) throw unavailable('signatures wait for too long');
    const job = { by, input, since, ...Promise.withResolvers<string>() };
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

  /** Divides what waits among the threads that have nothing to sign. All jobs of a batch have the same key. */
  #sendBatches(): void {
    const idle = this.#threads.filter(({ jobs }) => jobs.length === 0);
    for (const [position, thread] of idle.entries()) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      const ofAnother = this.#waiting.findIndex(({ by }) => by !== first.by);
      const share = Math.ceil(this.#waiting.length / (idle.length - position));
      const size = Math.min(BATCH_SIZE, share, ofAnother === -1 ? Infinity : ofAnother);
      this.#send(thread, this.#waiting.splice(0, size), first.by);
    }
  }

  #send(thread: Thread, jobs: readonly Job[], by: SignKeyObjectInput): void {
    thread.jobs = jobs;
    try {
      thread.worker ??= this.#startWorker(thread);
      thread.worker.ref();
      thread.worker.postMessage({ by, inputs: jobs.map(({ input }) => input) });
    } catch (fault) {
      this.#fail(thread, fault);
    }
  }

  #startWorker(thread: Thread): Worker {
    const options = { eval: true, name: 'signing', execArgv: [], env: {}, resourceLimits: HEAP };
    const worker = new Worker(this.#code, options);
    let cause: unknown;
    worker.on('message', (signatures: readonly string[] | null) => {
      const { jobs } = thread;
      if (signatures?.length !== jobs.length) {
        cause = 'a signing thread has another number of signatures than it was asked for';
        void worker.terminate();
        return;
      }
      thread.jobs = [];
      worker.unref();
      // The thread goes on before its signatures become responses.
      this.#sendBatches();
      for (const [position, { resolve }] of jobs.entries()) resolve(signatures[position] as string);
    });
    worker.on('error', (fault) => {
      cause = fault;
    });
    worker.on('messageerror', () => void worker.terminate());
    worker.on('exit', () => {
      thread.worker = undefined;
      this.#fail(thread, new Error('a thread has ended', { cause }));
    });
    // Behind the listeners: one for messages would keep the process alive.
    worker.unref();
    return worker;
  }

  #fail(thread: Thread, cause: unknown): void {
    for (const { reject } of thread.jobs) reject(new DependencyUnavailable(NAME, cause));
    thread.jobs = [];
    this.#schedule();
  }
}

function unavailable(reason: string): DependencyUnavailable {
  return new DependencyUnavailable(NAME, new Error(reason));
}
