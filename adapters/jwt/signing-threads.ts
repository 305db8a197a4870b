import type { SignKeyObjectInput } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import {
  FIRST_THREAD,
  FREE,
  type NumberedKey,
  type SharedJobs,
  type Sign,
  type SigningThreadData,
  signByRsa,
  signLoop,
  WAITING,
} from './sign-loop.ts';

/** In the log. */
const NAME = 'signing threads';

/** Megabytes. A thread keeps nothing from one signature to the next. */
const HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

/** Signatures in progress: more than requests may be. A power of two, so that numbers of jobs may overflow. */
export const SIGNATURES_MAX = 1_024;

/** Bytes of a signing input: more than a token may have. */
export const SIGNING_INPUT_MAX = 8_192;

/** The key that signs now, and the one before it, whose last jobs may still wait. */
const KEYS_MAX = 2;

/** Each report wakes the event loop, and four signatures take a millisecond. */
const REPORT_AFTER = 4;

/** Milliseconds after which no further signature may wait behind one: its caller would have lost patience. */
const WAITED_MS_MAX = 1_000;

interface Job extends PromiseWithResolvers<string> {
  /** In milliseconds of a clock that nobody sets. */
  readonly since: number;
}

/**
 * Threads that make signatures by RSA, first in, first out. They take their work from shared memory, since a message
 * for each signature would cost the event loop as much as the rest of a token (decision 0210). A thread that ends fails
 * the signature that it made, and is replaced. None keeps the process alive while there is nothing to sign.
 */
export class SigningThreads {
  readonly #code: string;
  readonly #now: () => number;
  readonly #workers: (Worker | undefined)[];
  readonly #shared = createSharedJobs();
  readonly #data = Buffer.from(this.#shared.data.buffer);
  /** By slot; undefined once its caller has the signature. */
  readonly #jobs: (Job | undefined)[] = Array(SIGNATURES_MAX).fill(undefined);
  /** Jobs that were ever published, and the first of them whose caller still waits. */
  #published = 0;
  #oldest = 0;
  #keys: readonly NumberedKey[] = [];
  #keysNumbered = 0;
  #isClosed = false;

  /**
   * @param createSign makes what signs in a thread, which gets nothing but the text of this function.
   * @param now milliseconds of a clock that nobody sets.
   */
  constructor(count: number, createSign: () => Sign = signByRsa, now = () => performance.now()) {
    // As text: a thread that reads its code from a file of TypeScript takes 22 MB.
    this.#code = `(${signLoop})(${createSign})`;
    this.#now = now;
    this.#workers = Array(count).fill(undefined);
  }

  /** Signatures in progress, at most {@link SIGNATURES_MAX}. */
  get inProgress(): number {
    return this.#published - this.#oldest;
  }

  /** Starts the threads ahead of the first signature. Throws the system's error where it has no more threads. */
  start(): void {
    for (const [index, worker] of this.#workers.entries()) this.#workers[index] = worker ?? this.#startWorker(index);
  }

  /**
   * The signature over this signing input of a JWS by SHA-256, in base64url.
   *
   * @param by the key and its padding. A thread gets a reference to the key, and nothing exports it.
   * @throws DependencyUnavailable if too many signatures wait, or for too long, the thread ends, or the service stops.
   */
  async sign(by: SignKeyObjectInput, input: string): Promise<string> {
    if (this.#isClosed) throw unavailable('the service stops');
    if (this.inProgress === SIGNATURES_MAX) throw unavailable('too many signatures wait');
    const since = this.#now();
    // After the process was stopped, signatures may be ready that no message has announced yet.
    if (this.#isLate(since)) this.#deliver();
    if (this.#isLate(since)) throw unavailable('signatures wait for too long');
    if (input.length > SIGNING_INPUT_MAX) throw new RangeError('a signing input is too long');
    this.#ensureThread();
    const job = { since, ...Promise.withResolvers<string>() };
    this.#publish(job, this.#numberOf(by), input);
    return job.promise;
  }

  /** Ends the threads. Refuses the signatures in progress, and new ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#workers.map((worker) => worker?.terminate()));
    this.#fail(() => true, new Error('the service stops'));
  }

  #jobAt(job: number): Job | undefined {
    return this.#jobs[job % SIGNATURES_MAX];
  }

  #isLate(now: number): boolean {
    return now - (this.#jobAt(this.#oldest)?.since ?? now) > WAITED_MS_MAX;
  }

  /** Some threads are enough: the next call tries to start the others again. */
  #ensureThread(): void {
    try {
      this.start();
    } catch (fault) {
      if (!this.#isRunning()) throw new DependencyUnavailable(NAME, fault);
    }
  }

  #isRunning(): boolean {
    return this.#workers.some((worker) => worker !== undefined);
  }

  #numberOf(by: SignKeyObjectInput): number {
    const known = this.#keys.find((key) => key.by === by);
    if (known !== undefined) return known.number;
    this.#keysNumbered += 1;
    const key = { number: this.#keysNumbered, by };
    this.#keys = [...this.#keys, key].slice(-KEYS_MAX);
    for (const worker of this.#workers) worker?.postMessage(key);
    return key.number;
  }

  #publish(job: Job, key: number, input: string): void {
    if (this.inProgress === 0) for (const worker of this.#workers) worker?.ref();
    const { published, states, keys, lengths } = this.#shared;
    const slot = this.#published % SIGNATURES_MAX;
    this.#jobs[slot] = job;
    keys[slot] = key;
    lengths[slot] = this.#data.write(input, slot * SIGNING_INPUT_MAX, 'latin1');
    Atomics.store(states, slot, WAITING);
    this.#published += 1;
    Atomics.store(published, 0, this.#published | 0);
    Atomics.notify(published, 0, 1);
  }

  /** Gives each caller the signature that is ready. A thread may be ahead of the one that has the oldest job. */
  #deliver(): void {
    const { states } = this.#shared;
    for (let number = this.#oldest; number < this.#published; number += 1) {
      const slot = number % SIGNATURES_MAX;
      const state = Atomics.load(states, slot);
      if (state === WAITING) break;
      const start = slot * SIGNING_INPUT_MAX;
      if (state < 0) this.#end(slot)?.resolve(this.#data.toString('base64url', start, start - state));
    }
    this.#passEnded();
  }

  /** Refuses the jobs whose slots have such a state. Returns whether there is one. */
  #fail(isFailed: (state: number) => boolean, cause: unknown): boolean {
    const { states } = this.#shared;
    let hasFailed = false;
    for (let number = this.#oldest; number < this.#published; number += 1) {
      const slot = number % SIGNATURES_MAX;
      if (!isFailed(Atomics.load(states, slot))) continue;
      this.#end(slot)?.reject(new DependencyUnavailable(NAME, cause));
      hasFailed = true;
    }
    this.#passEnded();
    return hasFailed;
  }

  #end(slot: number): Job | undefined {
    const job = this.#jobs[slot];
    this.#jobs[slot] = undefined;
    Atomics.store(this.#shared.states, slot, FREE);
    return job;
  }

  #passEnded(): void {
    while (this.inProgress > 0 && this.#jobAt(this.#oldest) === undefined) this.#oldest += 1;
    // Not while they end: the process could end before, and what is closed after them would stay open.
    if (this.inProgress === 0 && !this.#isClosed) for (const worker of this.#workers) worker?.unref();
  }

  #startWorker(index: number): Worker {
    const self = FIRST_THREAD + index;
    const workerData: SigningThreadData = {
      jobs: this.#shared,
      self,
      waiting: WAITING,
      keys: this.#keys,
      keysMax: KEYS_MAX,
      reportAfter: REPORT_AFTER,
    };
    const options = { eval: true, name: 'signing', workerData, execArgv: [], env: {}, resourceLimits: HEAP };
    const worker = new Worker(this.#code, options);
    let cause: unknown;
    worker.on('message', () => {
      Atomics.store(this.#shared.isReported, 0, 0);
      this.#deliver();
    });
    worker.on('error', (fault) => {
      cause = fault;
    });
    worker.on('exit', () => {
      this.#workers[index] = undefined;
      this.#replace(self, new Error('a thread has ended', { cause }));
    });
    // Behind the listeners: one for messages would keep the process alive.
    if (this.inProgress === 0) worker.unref();
    return worker;
  }

  /** After the end of a thread. */
  #replace(thread: number, cause: Error): void {
    // Its last report may be lost.
    Atomics.store(this.#shared.isReported, 0, 0);
    this.#deliver();
    const hasSigned = this.#fail((state) => state === thread, cause);
    if (this.#isClosed || this.inProgress === 0) return;
    try {
      // A thread that ends before it has anything to sign would only end again.
      if (hasSigned) this.start();
    } catch {
      // The next call tries it again.
    }
    if (!this.#isRunning()) this.#fail(() => true, cause);
    // It may have been woken for a job that it has not taken.
    Atomics.notify(this.#shared.published, 0);
  }
}

function createSharedJobs(): SharedJobs {
  const numbers = (count: number) => new Int32Array(new SharedArrayBuffer(4 * count));
  return {
    published: numbers(1),
    passed: numbers(1),
    unreported: numbers(1),
    isReported: numbers(1),
    states: numbers(SIGNATURES_MAX),
    keys: numbers(SIGNATURES_MAX),
    lengths: numbers(SIGNATURES_MAX),
    slotBytes: SIGNING_INPUT_MAX,
    data: new Uint8Array(new SharedArrayBuffer(SIGNATURES_MAX * SIGNING_INPUT_MAX)),
  };
}

function unavailable(reason: string): DependencyUnavailable {
  return new DependencyUnavailable(NAME, new Error(reason));
}
