import { createHash, timingSafeEqual } from 'node:crypto';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import { isPresentableSecret, type StoredSecret } from '../../domain/stored-secret.ts';

/** Adds `{noop}` secrets, for registrations in memory only. Everything else, the cost of a refusal included, is up to the other verifier. */
export class PlainSecretVerifier implements SecretVerifier {
  readonly #other: SecretVerifier;

  constructor(other: SecretVerifier) {
    this.#other = other;
  }

  get cost(): number {
    return this.#other.cost;
  }

  async verify(presented: string, stored: StoredSecret | undefined): Promise<SecretVerdict> {
    if (stored?.kind !== 'plain') return this.#other.verify(presented, stored);
    if (isPresentableSecret(presented) && isEqual(presented, stored.reveal())) return 'match';
    return this.#other.verify(presented, undefined);
  }
}

/** Compares digests, which have one length, in constant time. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
