import { availableParallelism } from 'node:os';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

interface Waiting {
  readonly start: () => void;
  readonly refuse: (fault: DependencyUnavailable) => void;
}

/** The threads of libuv's pool, of which one is left to the signatures. */
const POOL_THREADS = 4;

/** How many checks may wait: on two cores, about three seconds of BCrypt at cost 10. */
const WAITING_MAX = 128;

/**
 * Lets a bounded number of checks run at once, the others in the order in which they came. A check that has been handed
 * to libuv's pool cannot be taken back, holds up the signatures behind it, and keeps the process from ending; so only as
 * many are handed over as there are cores, and the rest wait here, where they can be refused.
 */
export class CheckQueue {
  readonly #atOnce: number;
  readonly #waiting: Waiting[] = [];
  #running = 0;
  #closed = false;

  readonly #waitingMax: number;

  /**
   * @param atOnce how many checks may run at the same time.
   * @param waitingMax how many more may wait; what comes then is refused at once.
   */
  constructor(atOnce: number = Math.min(availableParallelism(), POOL_THREADS - 1), waitingMax: number = WAITING_MAX) {
    this.#atOnce = atOnce;
    this.#waitingMax = waitingMax;
  }

  /** Runs a check when its turn comes. Throws DependencyUnavailable where too many wait already, and once the queue is closed. */
  async run<Outcome>(check: () => Promise<Outcome>): Promise<Outcome> {
    await this.#turn();
    try {
      return await check();
    } finally {
      this.#running -= 1;
      this.#startNext();
    }
  }

  /** Refuses what waits, and what comes; what runs cannot be stopped. */
  close(): void {
    this.#closed = true;
    for (const { refuse } of this.#waiting.splice(0)) refuse(refusal('the service stops'));
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(refusal('the service stops'));
      if (this.#waiting.length >= this.#waitingMax) return reject(refusal('too many checks wait already'));
      const start = () => {
        this.#running += 1;
        resolve();
      };
      if (this.#running < this.#atOnce) start();
      else this.#waiting.push({ start, refuse: reject });
    });
  }

  #startNext(): void {
    this.#waiting.shift()?.start();
  }
}

function refusal(reason: string): DependencyUnavailable {
  return new DependencyUnavailable('secret verification', new Error(reason));
}
