import type { AssertionUse, UsedAssertions, UseOutcome } from '../../application/ports/used-assertions.ts';
import { answerOf, type PrimaryFunctions, sentFaultOf } from './protocol.ts';

/** The store of the primary, which all workers of a service share: one message and its answer for each batch. */
export class RemoteUsedAssertions implements UsedAssertions {
  readonly #primary: Pick<PrimaryFunctions, 'useAssertions'>;

  constructor(primary: Pick<PrimaryFunctions, 'useAssertions'>) {
    this.#primary = primary;
  }

  use(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[]> {
    return answerOf('used assertions', this.#primary.useAssertions(uses));
  }
}

/** Uses assertions in the primary on behalf of its workers. */
export function useForWorkers(store: UsedAssertions): PrimaryFunctions['useAssertions'] {
  return (uses) => store.use(uses).catch(sentFaultOf);
}
