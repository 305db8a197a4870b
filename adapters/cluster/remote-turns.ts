import type { CheckRequest, CheckTurns } from '../../application/ports/check-turns.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { SecretVerdict } from '../../application/ports/secret-verifier.ts';
import { checkOutcome, verdictOf } from './check-outcome.ts';
import type { CheckOutcome, PrimaryFunctions } from './protocol.ts';

interface Waiting {
  readonly check: () => Promise<SecretVerdict>;
  readonly reject: (fault: unknown) => void;
}

/** The turns of the primary, who gives them to all workers of this service. The check itself runs here. */
export class RemoteTurns implements CheckTurns {
  readonly #primary: Pick<PrimaryFunctions, 'takeTurn' | 'callerGone'>;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #closed = false;

  constructor(primary: Pick<PrimaryFunctions, 'takeTurn' | 'callerGone'>) {
    this.#primary = primary;
  }

  async take({ caller, ...request }: CheckRequest, check: () => Promise<SecretVerdict>): Promise<SecretVerdict> {
    if (this.#closed) throw refusal('the service stops');
    if (caller.disconnected.aborted) throw refusal('the caller has gone');
    this.#last += 1;
    const id = this.#last;
    const { promise, resolve, reject } = Promise.withResolvers<CheckOutcome>();
    const onGone = () => this.#primary.callerGone(id);
    caller.disconnected.addEventListener('abort', onGone);
    this.#waiting.set(id, { check, reject });
    this.#primary
      .takeTurn(id, { ...request, address: caller.address, proved: caller.proved ?? false })
      .then(resolve, () => reject(refusal('the primary process has gone')));
    try {
      return verdictOf(await promise);
    } finally {
      caller.disconnected.removeEventListener('abort', onGone);
      this.#waiting.delete(id);
    }
  }

  close(): void {
    this.#closed = true;
    for (const { reject } of this.#waiting.values()) reject(refusal('the service stops'));
  }

  /** Runs the check whose turn has come. */
  run(id: number): Promise<CheckOutcome> {
    const waiting = this.#waiting.get(id);
    return checkOutcome(waiting?.check() ?? Promise.reject(new Error('nobody waits for this check')));
  }
}

function refusal(reason: string): DependencyUnavailable {
  return new DependencyUnavailable('secret verification', new Error(reason));
}
