interface BatchesOptions {
  /** The most items of one batch. */
  readonly max: number;
  /** Whether a batch waits until the one before it has ended. Otherwise each pass of the event loop begins one. */
  readonly isSerial?: boolean;
}

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Does what concurrent requests need together, first in, first out: what the event loop has read is processed first,
 * and joins. So a request alone hardly waits. Nothing joins a batch that has begun. As many items wait as requests are
 * in progress.
 */
export class Batches<Item, Outcome> {
  readonly #run: (items: readonly Item[]) => readonly Outcome[] | Promise<readonly Outcome[]>;
  readonly #max: number;
  readonly #isSerial: boolean;
  #waiting: Waiting<Item, Outcome>[] = [];
  #isScheduled = false;

  /** @param run returns one outcome for each item, in order. If it fails, every item of its batch does. */
  constructor(
    run: (items: readonly Item[]) => readonly Outcome[] | Promise<readonly Outcome[]>,
    { max, isSerial = false }: BatchesOptions,
  ) {
    this.#run = run;
    this.#max = max;
    this.#isSerial = isSerial;
  }

  /** The outcome for this item. Rejects with what its batch throws. */
  add(item: Item): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#pass());
  }

  async #pass(): Promise<void> {
    const batch = this.#waiting.slice(0, this.#max);
    this.#waiting = this.#waiting.slice(this.#max);
    if (!this.#isSerial) this.#scheduleNext();
    try {
      const outcomes = await this.#run(batch.map(({ item }) => item));
      if (outcomes.length !== batch.length) throw new Error('a batch has another number of outcomes than of items');
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] as Outcome);
    } catch (fault) {
      for (const { reject } of batch) reject(fault);
    }
    if (this.#isSerial) this.#scheduleNext();
  }

  #scheduleNext(): void {
    this.#isScheduled = false;
    this.#schedule();
  }
}
