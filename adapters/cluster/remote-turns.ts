import type { CheckRequest, CheckTurns } from '../../application/ports/check-turns.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import { checkOutcome, verdictOf } from './check-outcome.ts';
import type { CheckOutcome, PrimaryFunctions } from './protocol.ts';

/** The turns of the primary, who gives them to all workers of this service. The check itself runs here. */
export class RemoteTurns implements CheckTurns {
  readonly #primary: Pick<PrimaryFunctions, 'takeTurn' | 'callerGone'>;
  readonly #checks = new Map<number, () => Promise<SecretVerdict>>();
  #last = 0;

  constructor(primary: Pick<PrimaryFunctions, 'takeTurn' | 'callerGone'>) {
    this.#primary = primary;
  }

  async take({ caller, ...request }: CheckRequest, check: () => Promise<SecretVerdict>): Promise<SecretVerdict> {
    if (caller.gone.aborted) throw new DependencyUnavailable('secret verification', new Error('the caller has gone'));
    this.#last += 1;
    const id = this.#last;
    const onGone = () => this.#primary.callerGone(id);
    caller.gone.addEventListener('abort', onGone);
    this.#checks.set(id, check);
    try {
      return verdictOf(await this.#primary.takeTurn(id, { ...request, address: caller.address }).catch(primaryGone));
    } finally {
      caller.gone.removeEventListener('abort', onGone);
      this.#checks.delete(id);
    }
  }

  /** Runs the check whose turn has come. */
  run(id: number): Promise<CheckOutcome> {
    const check = this.#checks.get(id);
    return checkOutcome(check?.() ?? Promise.reject(new Error('nobody waits for this check')));
  }
}

function primaryGone(fault: unknown): never {
  throw new DependencyUnavailable('secret verification', fault);
}
