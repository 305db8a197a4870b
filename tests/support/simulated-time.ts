/**
 * Virtual seconds, in which tasks wait for each other: hours pass in a moment, and every run with the same seed is the
 * same.
 */
export class SimulatedTime {
  #now = 0;
  readonly #waiting: { readonly at: number; readonly wake: () => void }[] = [];
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  get now(): number {
    return this.#now;
  }

  /** A number from 0 to below 1 (mulberry32). */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  isLikely(probability: number): boolean {
    return this.random() < probability;
  }

  oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  wait(seconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const at = this.#now + seconds;
    // The last one is the next; of two for the same time, the one that has waited longer.
    let [low, high] = [0, this.#waiting.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#waiting[middle]?.at ?? 0) <= at) high = middle;
      else low = middle + 1;
    }
    this.#waiting.splice(low, 0, { at, wake: resolve });
    return promise;
  }

  /** Lets the tasks run until this second. */
  async runUntil(end: number): Promise<void> {
    for (let next = this.#waiting.at(-1); next !== undefined && next.at <= end; next = this.#waiting.at(-1)) {
      this.#waiting.pop();
      this.#now = next.at;
      next.wake();
      // Everything that does not wait for this time runs meanwhile.
      await new Promise(setImmediate);
    }
    this.#now = end;
  }
}
