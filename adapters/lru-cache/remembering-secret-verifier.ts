import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ClientCredentials } from '../../application/ports/client-credentials.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { SecretVerdict, SecretVerifier } from '../../application/ports/secret-verifier.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** Clients that are remembered at once; beyond them, those who came longest ago are checked again. About 30 MB. */
const CLIENTS_MAX = 100_000;

interface Match {
  readonly digest: Buffer;
  /** Seconds since the epoch. */
  readonly until: number;
}

/**
 * Remembers matches, so that a client who comes again is not hashed again. What is kept is a digest of client id,
 * presented secret and stored hash, under a key that this process made and nobody else has: it is worth nothing outside.
 * Since the stored hash is part of it, a new, locked or removed secret is refused at the next request. Refusals are
 * never remembered, and cost what they cost.
 */
export class RememberingSecretVerifier implements SecretVerifier {
  readonly #others: SecretVerifier;
  readonly #clock: Clock;
  readonly #seconds: number;
  // As bytes it would be looked through anew for each digest, which takes five times as long.
  readonly #key = createSecretKey(randomBytes(32));
  readonly #matches: LRUCache<string, Match>;

  /** @param seconds how long a match is remembered. */
  constructor(others: SecretVerifier, clock: Clock, seconds: number, clientsMax = CLIENTS_MAX) {
    this.#others = others;
    this.#clock = clock;
    this.#seconds = seconds;
    this.#matches = new LRUCache({ max: clientsMax });
  }

  async verify(credentials: ClientCredentials, stored: StoredSecret | undefined): Promise<SecretVerdict> {
    // Made for an unknown client too, so that the work is the same.
    const digest = this.#digest(credentials, stored?.reveal() ?? '');
    if (stored !== undefined && this.#isRemembered(credentials.clientId, digest)) return 'match';

    const verdict = await this.#others.verify(credentials, stored);
    if (verdict === 'match') {
      this.#matches.set(credentials.clientId, { digest, until: this.#clock.now() + this.#seconds });
    }
    return verdict;
  }

  #isRemembered(clientId: string, digest: Buffer): boolean {
    const match = this.#matches.get(clientId);
    return match !== undefined && this.#clock.now() < match.until && timingSafeEqual(match.digest, digest);
  }

  /** Each part behind its length, so that no two triples give one text. */
  #digest({ clientId, clientSecret }: ClientCredentials, stored: string): Buffer {
    const hmac = createHmac('sha256', this.#key);
    for (const part of [clientId, clientSecret, stored]) hmac.update(`${part.length}:`).update(part);
    return hmac.digest();
  }
}
