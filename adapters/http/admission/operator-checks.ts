export const OPERATOR_LIMITS = {
  /** Wrong tokens that are checked without a wait, and how long each of them delays the checks after these, in milliseconds. */
  burst: 20,
  everyMs: 50,
  /** Checks that wait at once: as many as there can be connections to the management port. */
  waiting: 100,
};

/**
 * Paces the checks of the operator's token: beyond 20 wrong ones in a second, every check waits, at most for 5 s. The right
 * token waits too, since an answer at once would tell it apart. It is locked out only while 100 others wait: checks are in the order
 * of arrival, so that nobody who keeps on guessing gets in front of it.
 */
export class OperatorChecks {
  readonly #limits: typeof OPERATOR_LIMITS;
  readonly #now: () => number;
  /** When the wrong tokens so far would all be paid for, in milliseconds. */
  #paidAt = -Infinity;
  /** The checks that wait, the oldest first. */
  readonly #queue: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param now monotonic time in milliseconds. */
  constructor(limits = OPERATOR_LIMITS, now = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Waits until a token may be checked. Resolves with false, at once, if too many wait already. A caller that disconnects
   * waits no longer, and another one can have the place.
   */
  async wait(disconnected: AbortSignal): Promise<boolean> {
    if (disconnected.aborted || (this.#queue.length === 0 && this.#delayMs() <= 0)) return true;
    if (this.#queue.length >= this.#limits.waiting) return false;
    await new Promise<void>((resolve) => {
      this.#queue.push(resolve);
      disconnected.addEventListener('abort', () => this.#leave(resolve));
      this.#plan();
    });
    return true;
  }

  countWrong(): void {
    this.#paidAt = Math.max(this.#paidAt, this.#now()) + this.#limits.everyMs;
  }

  #leave(check: () => void): void {
    const place = this.#queue.indexOf(check);
    if (place !== -1) this.#queue.splice(place, 1);
    check();
    if (this.#queue.length > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** One check at a time: the token before may have been wrong, and is counted before the next check. */
  #plan(): void {
    if (this.#timer !== undefined || this.#queue.length === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#delayMs() <= 0) this.#queue.shift()?.();
        this.#plan();
      },
      Math.max(1, Math.ceil(this.#delayMs())),
    );
  }

  #delayMs(): number {
    const { burst, everyMs } = this.#limits;
    return this.#paidAt - this.#now() - burst * everyMs;
  }
}
