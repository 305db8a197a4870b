import { createHash, timingSafeEqual } from 'node:crypto';
import type { Caller } from '../../application/ports/caller.ts';
import type { ClientCredentials } from '../../application/ports/client-credentials.ts';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { isPresentableSecret, type StoredSecret } from '../../domain/stored-secret.ts';

/** Adds `{noop}` secrets, for the in-memory registrations alone; everything else, a refusal's cost included, is the other verifier's. */
export class PlainSecretVerifier implements SecretVerifier {
  readonly #others: SecretVerifier;

  constructor(others: SecretVerifier) {
    this.#others = others;
  }

  async verify(
    credentials: ClientCredentials,
    stored: StoredSecret | undefined,
    caller: Caller,
  ): Promise<SecretVerdict> {
    if (stored?.kind !== 'plain') return this.#others.verify(credentials, stored, caller);
    const presented = credentials.clientSecret;
    if (isPresentableSecret(presented) && isEqual(presented, stored.reveal())) return 'match';
    return this.#others.verify(credentials, undefined, caller);
  }
}

/** Compares digests, which have one length, in constant time. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
