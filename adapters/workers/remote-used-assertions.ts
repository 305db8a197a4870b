import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { AssertionUse, UsedAssertions, UseOutcome } from '../../application/ports/used-assertions.ts';
import { type PrimaryFunctions, sentFaultOf } from './protocol.ts';

const NAME = 'used assertions';

/** The store of the primary, which all workers of a service share: one message and its answer for each batch. */
export class RemoteUsedAssertions implements UsedAssertions {
  readonly #primary: Pick<PrimaryFunctions, 'useAssertions'>;

  constructor(primary: Pick<PrimaryFunctions, 'useAssertions'>) {
    this.#primary = primary;
  }

  async use(uses: readonly AssertionUse[]): Promise<readonly UseOutcome[]> {
    const answer = await this.#primary.useAssertions(uses).catch((reason) => {
      throw new DependencyUnavailable(NAME, reason);
    });
    if ('unavailable' in answer) throw new DependencyUnavailable(NAME, new Error(answer.unavailable));
    return answer;
  }
}

/** Uses assertions in the primary on behalf of its workers. */
export function useForWorkers(store: UsedAssertions): PrimaryFunctions['useAssertions'] {
  return async (uses) => {
    try {
      return await store.use(uses);
    } catch (reason) {
      return sentFaultOf(reason);
    }
  };
}
