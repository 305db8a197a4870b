import type { Caller } from '../../application/ports/caller.ts';
import type { ClientCredentials } from '../../application/ports/client-credentials.ts';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';
import type { RememberedSecrets } from './verified-secret-cache.ts';

/**
 * Remembers the matches of the other verifier. It looks itself first: while one check waited for its turn, another of
 * the same client may have proved the secret.
 */
export class RecordingSecretVerifier implements SecretVerifier {
  readonly #others: SecretVerifier;
  readonly #remembered: RememberedSecrets;

  constructor(others: SecretVerifier, remembered: RememberedSecrets) {
    this.#others = others;
    this.#remembered = remembered;
  }

  async verify(
    credentials: ClientCredentials,
    stored: StoredSecret | undefined,
    caller: Caller,
  ): Promise<SecretVerdict> {
    const { clientId } = credentials;
    const digest = this.#remembered.digest(credentials, stored);
    if (stored !== undefined && this.#remembered.recall(clientId, digest) === 'fresh') return 'match';
    const verdict = await this.#others.verify(credentials, stored, caller);
    if (verdict === 'match') this.#remembered.add(clientId, digest);
    return verdict;
  }
}
