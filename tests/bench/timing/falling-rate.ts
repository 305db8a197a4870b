/** After so many answers in a row, the rate is halved if more than a fifth of them were not of the measured path. */
const RATE_CHECKED_EVERY = 100;
const OTHERS_MAX = RATE_CHECKED_EVERY / 5;

/** Requests per second. Halved as long as too many answers are not of the measured path. */
export class FallingRate {
  #perSecond: number;
  #answers = 0;
  #others = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** Counts the answer to a request that was sent at this rate. */
  add(perSecond: number, accepted: boolean): void {
    if (perSecond !== this.#perSecond) return;
    this.#answers += 1;
    if (!accepted) this.#others += 1;
    if (this.#answers < RATE_CHECKED_EVERY) return;
    if (this.#others > OTHERS_MAX) this.#perSecond /= 2;
    this.#answers = 0;
    this.#others = 0;
  }
}
