import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

/** How much work of each kind runs in libuv's pool of threads at once. */
interface PoolBounds {
  /** BCrypt checks and hashes. */
  readonly bcrypt: number;
  /** Expensive verifications of assertions. */
  readonly assertions: number;
  /** Writes to the log and to the audit file, one at a time each. */
  readonly writers: number;
}

/** Cores that BCrypt leaves to tokens that need none. */
const CORES_LEFT = 1;

/** The threads of libuv's pool where `UV_THREADPOOL_SIZE` does not say how many. */
const THREADS_BY_DEFAULT = 4;

/**
 * The bounds for so many cores. Work waits for a thread in front of the pool, so no kind of it holds up another.
 *
 * @param threads of the pool, if it has a size already: the bounds then fit into half of them, and are at least one.
 */
export function poolBounds(cores: number, threads = Infinity): PoolBounds {
  const [assertions, writers] = [1, threads < 8 ? 1 : 2];
  const left = Math.floor(threads / 2) - assertions - writers;
  return { bcrypt: Math.max(1, Math.min(cores - CORES_LEFT, left)), assertions, writers };
}

/** How many threads the pool has, by the value of `UV_THREADPOOL_SIZE`. */
export function threadsOf(size: string | undefined): number {
  return Number(size) || THREADS_BY_DEFAULT;
}

/**
 * How many threads the pool needs: twice as many as there is work at once. libuv gives up to half of them to name
 * look-ups, which can hang for half a minute, and the work of these bounds never waits for the other half.
 */
export function threadsFor(bounds: PoolBounds): number {
  return 2 * Object.values(bounds).reduce((sum, bound) => sum + bound, 0);
}

/** One kind of work in libuv's pool: so much of it runs at once, and the rest waits, first in, first out. */
export class PoolWork {
  readonly #name: string;
  readonly #concurrent: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** @param name for the log, where too much work waits. */
  constructor(name: string, concurrent: number, waitingMax: number) {
    this.#name = name;
    this.#concurrent = concurrent;
    this.#waitingMax = waitingMax;
  }

  /** Resolves or rejects as the work does. Throws DependencyUnavailable if too much work waits already. */
  readonly run = async <Outcome>(work: () => Promise<Outcome>): Promise<Outcome> => {
    if (this.#running < this.#concurrent) this.#running += 1;
    else if (this.#waiting.length < this.#waitingMax) await new Promise<void>((start) => this.#waiting.push(start));
    else throw new DependencyUnavailable(this.#name, new Error('too much of it waits for a thread'));
    try {
      return await work();
    } finally {
      // The next one takes this place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  };

  /** What runs and what waits, with their bounds. */
  get load() {
    const [running, waiting] = [this.#running, this.#waiting.length];
    return { running, runningMax: this.#concurrent, waiting, waitingMax: this.#waitingMax };
  }
}
