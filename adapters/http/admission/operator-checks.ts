import { setTimeout as delay } from 'node:timers/promises';

export const OPERATOR_LIMITS = {
  /** Wrong tokens that are checked without a wait, and how long each of them delays the checks after these, in milliseconds. */
  burst: 20,
  everyMs: 50,
  /** Checks that wait at once: as many as there can be connections to the management port. */
  waiting: 100,
};

/**
 * Paces the checks of the operator's token: beyond 20 wrong ones in a second, every check waits for its slot, at most for 5 s. The
 * right token waits too, since an answer at once would tell it apart. It is locked out only while 100 others wait.
 */
export class OperatorChecks {
  readonly #limits: typeof OPERATOR_LIMITS;
  readonly #now: () => number;
  /** When the wrong tokens so far would all be paid for, in milliseconds. */
  #paidAt = -Infinity;
  #waiting = 0;

  /** @param now monotonic time in milliseconds. */
  constructor(limits = OPERATOR_LIMITS, now = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Waits until a token may be checked. Resolves with false, at once, if too many wait already. */
  async wait(): Promise<boolean> {
    if (this.#delayMs() <= 0) return true;
    if (this.#waiting >= this.#limits.waiting) return false;
    this.#waiting += 1;
    // The token of another one that waited may have been wrong meanwhile.
    while (this.#delayMs() > 0) await delay(this.#delayMs());
    this.#waiting -= 1;
    return true;
  }

  countWrong(): void {
    this.#paidAt = Math.max(this.#paidAt, this.#now()) + this.#limits.everyMs;
  }

  #delayMs(): number {
    const { burst, everyMs } = this.#limits;
    return this.#paidAt - this.#now() - burst * everyMs;
  }
}
