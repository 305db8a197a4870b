import { Batches } from '../batches.ts';
import {
  type AssertionUse,
  type UsedAssertions,
  UsedAssertionsFull,
  type UseOutcome,
} from '../ports/used-assertions.ts';

/** The most uses that are sent at once. */
const BATCH_SIZE = 200;

/**
 * Lets each assertion be used once. The uses of concurrent requests are sent to the store together: those of one pass
 * of the event loop, and those that collect while a batch is on its way. So under load a message or a transaction
 * serves many.
 */
export class UseAssertion {
  readonly #uses: Batches<AssertionUse, UseOutcome>;

  constructor(store: Pick<UsedAssertions, 'use'>) {
    this.#uses = new Batches((uses) => store.use(uses), { max: BATCH_SIZE, isSerial: true });
  }

  /** Whether this use is the first. Throws UsedAssertionsFull, and DependencyUnavailable. */
  async execute(use: AssertionUse): Promise<'first' | 'replayed'> {
    const outcome = await this.#uses.add(use);
    if (outcome === 'first' || outcome === 'replayed') return outcome;
    throw new UsedAssertionsFull(outcome);
  }
}
