import { LRUCache } from 'lru-cache';
import type { Caller } from '../../application/ports/caller.ts';
import type { ClientCredentials } from '../../application/ports/client-credentials.ts';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { RememberedSecrets } from './verified-secret-cache.ts';

const PAIRS_MAX = 100_000;

/** Nobody waits for a renewal, so nobody leaves. */
const NEVER = new AbortController().signal;

/**
 * Answers from memory for a client who comes again, so that he is not hashed again. Refusals are never remembered, and
 * cost what they cost. What will soon be forgotten is checked anew while the client is served: so who comes often
 * enough never waits for a check.
 */
export class RememberingSecretVerifier implements SecretVerifier {
  readonly #others: SecretVerifier;
  readonly #remembered: RememberedSecrets;
  readonly #renewing = new Set<string>();
  /** Addresses and client ids of those who failed too often, and of those whose secret proved good. */
  readonly #exhausted = new LRUCache<string, true>({ max: PAIRS_MAX });
  readonly #proved = new LRUCache<string, true>({ max: PAIRS_MAX });

  constructor(others: SecretVerifier, remembered: RememberedSecrets) {
    this.#others = others;
    this.#remembered = remembered;
  }

  async verify(
    credentials: ClientCredentials,
    stored: StoredSecret | undefined,
    caller: Caller,
  ): Promise<SecretVerdict> {
    // Made for an unknown client too, so that the work is the same.
    const digest = this.#remembered.digest(credentials, stored);
    const recollection = stored && this.#remembered.recall(credentials.clientId, digest);
    const pair = `${caller.address} ${credentials.clientId}`;
    if (recollection === undefined || this.#mayOnlyGuess(pair)) return this.#verify(credentials, stored, caller, pair);
    if (recollection === 'stale') this.#renew(credentials, stored, caller.address);
    if (!this.#proved.has(pair)) this.#proved.set(pair, true);
    return 'match';
  }

  /** Memory answers faster than BCrypt; so it answers nobody who has failed too often, unless he is who proved himself there. */
  #mayOnlyGuess(pair: string): boolean {
    return this.#exhausted.has(pair) && !this.#proved.has(pair);
  }

  async #verify(
    credentials: ClientCredentials,
    stored: StoredSecret | undefined,
    caller: Caller,
    pair: string,
  ): Promise<SecretVerdict> {
    const verdict = await this.#others.verify(credentials, stored, caller);
    if (verdict === 'attempts_exhausted') this.#exhausted.set(pair, true);
    if (verdict === 'match') this.#proved.set(pair, true);
    return verdict;
  }

  #renew(credentials: ClientCredentials, stored: StoredSecret | undefined, address: string): void {
    const { clientId } = credentials;
    if (this.#renewing.has(clientId)) return;
    this.#renewing.add(clientId);
    // Where there is no turn for it now, the next request tries again, or is checked when the time is over.
    this.#others
      .verify(credentials, stored, { address, disconnected: NEVER, proved: true })
      .catch(() => undefined)
      .finally(() => this.#renewing.delete(clientId));
  }
}
