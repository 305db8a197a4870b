import type { Caller } from '../../application/ports/caller.ts';
import type { CheckTurns } from '../../application/ports/check-turns.ts';
import type { ClientCredentials } from '../../application/ports/client-credentials.ts';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** Waits for its turn before it lets the other verifier work. */
export class QueuedSecretVerifier implements SecretVerifier {
  readonly #others: SecretVerifier;
  readonly #turns: CheckTurns;
  readonly #cost: number;
  readonly #uncounted: <Outcome>(wait: () => Promise<Outcome>) => Promise<Outcome>;

  /** @param cost log2 of the rounds that every refusal takes; a dearer stored secret takes its own. */
  constructor(
    others: SecretVerifier,
    turns: CheckTurns,
    cost: number,
    uncounted: <Outcome>(wait: () => Promise<Outcome>) => Promise<Outcome> = (wait) => wait(),
  ) {
    this.#others = others;
    this.#turns = turns;
    this.#cost = cost;
    this.#uncounted = uncounted;
  }

  verify(credentials: ClientCredentials, stored: StoredSecret | undefined, caller: Caller): Promise<SecretVerdict> {
    const request = {
      clientId: credentials.clientId,
      registered: stored !== undefined,
      cost: Math.max(this.#cost, stored?.cost ?? 0),
      caller,
    };
    return this.#uncounted(() => this.#turns.take(request, () => this.#others.verify(credentials, stored, caller)));
  }
}
