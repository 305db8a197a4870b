import type { SignKeyObjectInput } from 'node:crypto';
import { setImmediate as nextPass } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

/** Makes a signature by SHA-256 over a signing input. Runs in a thread, which gets its text and nothing else of this module. */
export type Sign = (input: Uint8Array, by: SignKeyObjectInput) => Uint8Array;

const signByRsa: Sign = (input, by) => process.getBuiltinModule('node:crypto').sign('sha256', input, by);

/** What a thread gets. The key comes with each batch, so that no thread signs with an old one. */
interface Batch {
  readonly by: SignKeyObjectInput;
  readonly inputs: readonly string[];
}

/** Runs in a thread, likewise. Replies to each batch with its signatures. */
function signBatches(sign: Sign): void {
  const { parentPort } = process.getBuiltinModule('node:worker_threads');
  parentPort?.on('message', ({ by, inputs }: Batch) => {
    const signatures = inputs.map((input) => Buffer.from(sign(Buffer.from(input, 'latin1'), by)));
    parentPort.postMessage(signatures.map((signature) => signature.toString('base64url')));
  });
}

/** In the log. */
const NAME = 'signing threads';

/** Megabytes. A thread keeps nothing from one batch to the next. */
const HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

/** Signatures that a thread makes for one message: with a key of 2,048 bits, in about 5 ms. */
const BATCH_SIZE = 16;

/** Signatures in progress: more than requests may be in progress. */
export const SIGNATURES_MAX = 1_024;

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
 * Threads that make signatures by RSA, first in, first out. A batch has what the event loop has read in one pass: a message for
 * each signature would cost the event loop as much as the rest of a token (decision 0210). A thread that ends fails its batch, and
 * is started again for the next one. None keeps the process alive while it has nothing to sign.
 */
export class SigningThreads {
  readonly #code: string;
  readonly #now: () => number;
  readonly #threads: readonly Thread[];
  #waiting: Job[] = [];
  #isScheduled = false;
  #isClosed = false;

  /**
   * @param sign what signs in a thread.
   * @param now milliseconds of a clock that nobody sets.
   */
  constructor(count: number, sign = signByRsa, now = () => performance.now()) {
    // As text: a thread that reads its code from a file of TypeScript takes 22 MB.
    this.#code = `(${signBatches})(${sign})`;
    this.#now = now;
    this.#threads = Array.from({ length: count }, () => ({ worker: undefined, jobs: [] }));
  }

  /** Signatures that wait or are made, at most {@link SIGNATURES_MAX}. */
  get inProgress(): number {
    return this.#threads.reduce((sum, { jobs }) => sum + jobs.length, this.#waiting.length);
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
    // After the process was stopped, signatures may be ready whose messages have not been read yet.
    if (this.#isLate()) await nextPass();
    if (this.#isClosed) throw unavailable('the service stops');
    if (this.#isLate()) throw unavailable('signatures wait for too long');
    if (this.inProgress >= SIGNATURES_MAX) throw unavailable('too many signatures wait');
    const job = { by, input, since: this.#now(), ...Promise.withResolvers<string>() };
    this.#waiting.push(job);
    this.#schedule();
    return job.promise;
  }

  /** Ends the threads. Refuses the signatures in progress, and new ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    refuse(this.#waiting.splice(0), new Error('the service stops'));
    await Promise.all(this.#threads.map(({ worker }) => worker?.terminate()));
  }

  #isLate(): boolean {
    const latest = this.#now() - WAITED_MS_MAX;
    const isOld = ([first]: readonly Job[]) => first !== undefined && first.since < latest;
    return isOld(this.#waiting) || this.#threads.some(({ jobs }) => isOld(jobs));
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
    if (this.#waiting.length === 0) return;
    this.#ensureThread();
    const idle = this.#threads.filter(({ worker, jobs }) => worker !== undefined && jobs.length === 0);
    for (const [position, thread] of idle.entries()) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      const ofAnother = this.#waiting.findIndex(({ by }) => by !== first.by);
      const share = Math.ceil(this.#waiting.length / (idle.length - position));
      const size = Math.min(BATCH_SIZE, share, ofAnother === -1 ? Infinity : ofAnother);
      thread.jobs = this.#waiting.splice(0, size);
      thread.worker?.ref();
      thread.worker?.postMessage({ by: first.by, inputs: thread.jobs.map(({ input }) => input) } satisfies Batch);
    }
  }

  /** Some threads are enough: the next batch tries to start the others again. */
  #ensureThread(): void {
    try {
      this.start();
    } catch (fault) {
      if (this.#threads.every(({ worker }) => worker === undefined)) refuse(this.#waiting.splice(0), fault);
    }
  }

  #startWorker(thread: Thread): Worker {
    const options = { eval: true, name: 'signing', execArgv: [], env: {}, resourceLimits: HEAP };
    const worker = new Worker(this.#code, options);
    let cause: unknown;
    worker.on('message', (signatures: readonly string[]) => {
      const { jobs } = thread;
      thread.jobs = [];
      if (!this.#isClosed) worker.unref();
      // The thread goes on before its signatures become responses.
      this.#sendBatches();
      for (const [position, { resolve }] of jobs.entries()) resolve(signatures[position] as string);
    });
    worker.on('error', (fault) => {
      cause = fault;
    });
    worker.on('exit', () => {
      const { jobs } = thread;
      [thread.worker, thread.jobs] = [undefined, []];
      refuse(jobs, new Error('a thread has ended', { cause }));
      this.#schedule();
    });
    // Behind the listeners: one for messages would keep the process alive.
    worker.unref();
    return worker;
  }
}

function refuse(jobs: readonly Job[], cause: unknown): void {
  for (const { reject } of jobs) reject(new DependencyUnavailable(NAME, cause));
}

function unavailable(reason: string): DependencyUnavailable {
  return new DependencyUnavailable(NAME, new Error(reason));
}
