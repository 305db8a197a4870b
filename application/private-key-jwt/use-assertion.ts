import { type AssertionUse, type UsedAssertions, UsedAssertionsFull } from '../ports/used-assertions.ts';

/** The most uses that are sent at once. */
const BATCH_SIZE = 200;

interface WaitingUse {
  readonly use: AssertionUse;
  readonly resolve: (outcome: 'first' | 'replayed') => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Lets each assertion be used once. The uses of concurrent requests are sent to the store together: those of one pass of the
 * event loop, and those that collect while a batch is on its way. So a request alone hardly waits, and under load a message
 * or a transaction serves many. As many wait as requests are in progress.
 */
export class UseAssertion {
  readonly #store: UsedAssertions;
  #waiting: WaitingUse[] = [];
  #sending = false;

  constructor(store: UsedAssertions) {
    this.#store = store;
  }

  /** Whether this use is the first. Throws UsedAssertionsFull, and DependencyUnavailable. */
  execute(use: AssertionUse): Promise<'first' | 'replayed'> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ use, resolve, reject });
      if (!this.#sending) void this.#send();
    });
  }

  async #send(): Promise<void> {
    this.#sending = true;
    while (this.#waiting.length > 0) {
      // What the event loop has read already is processed first, and joins.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#waiting.slice(0, BATCH_SIZE);
      this.#waiting = this.#waiting.slice(BATCH_SIZE);
      await this.#sendBatch(batch);
    }
    this.#sending = false;
  }

  async #sendBatch(batch: readonly WaitingUse[]): Promise<void> {
    try {
      const outcomes = await this.#store.use(batch.map(({ use }) => use));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === 'first' || outcome === 'replayed') resolve(outcome);
        else reject(outcome === undefined ? new Error('a use has no outcome') : new UsedAssertionsFull(outcome));
      }
    } catch (fault) {
      for (const { reject } of batch) reject(fault);
    }
  }
}
