import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../application/ports/clock.ts';
import type { CachedVerification, PresentedSecret, VerifiedSecrets } from '../../application/ports/verified-secrets.ts';

/** Clients in the cache; the least recently used one is evicted. About 30 MB. */
const CLIENTS_MAX = 100_000;

/** Pairs of address and client id, distrusted or verified; the least recently used one is evicted. */
const PAIRS_MAX = 100_000;

/** The part of an entry's lifetime after which it is due for another verification. */
const RENEWED_AFTER = 0.8;

/** One cache entry, as the workers of a service send it to each other. Worth nothing without the cache's key. */
export interface VerifiedSecret {
  readonly clientId: string;
  /** HMAC-SHA-256 of client id, presented secret and stored secret. */
  readonly digest: Uint8Array;
  /** When it was verified, in seconds since the epoch. */
  readonly at: number;
}

export interface VerifiedSecretCacheOptions {
  /** 32 random bytes, which only the processes of this service know. */
  readonly key: Uint8Array;
  /** How long an entry is valid, in seconds; 0 disables the cache. */
  readonly lifetimeSeconds: number;
  readonly clientsMax?: number;
  /** Called with each entry that this process adds. */
  readonly onAdded?: (entry: VerifiedSecret) => void;
}

/**
 * Verified secrets, as digests under a key that was generated when the service started. The stored secret is part of the
 * digest, so a new, locked or removed one misses the cache at once.
 *
 * The cache answers faster than BCrypt. Therefore it does not answer a caller who failed too often, except at an address
 * where the client itself was verified.
 */
export class VerifiedSecretCache implements VerifiedSecrets {
  readonly #clock: Clock;
  readonly #options: VerifiedSecretCacheOptions;
  // With a KeyObject, a digest takes a fifth of the time that it takes with the key's bytes.
  readonly #key: KeyObject;
  readonly #entries: LRUCache<string, VerifiedSecret>;
  readonly #distrustedPairs = new LRUCache<string, true>({ max: PAIRS_MAX });
  readonly #verifiedPairs = new LRUCache<string, true>({ max: PAIRS_MAX });

  constructor(clock: Clock, options: VerifiedSecretCacheOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#key = createSecretKey(options.key);
    this.#entries = new LRUCache({ max: options.clientsMax ?? CLIENTS_MAX });
  }

  lookUp(presented: PresentedSecret): CachedVerification {
    const { clientId } = presented;
    const digest = this.#digest(presented);
    const pair = `${presented.address} ${clientId}`;
    return {
      state: () => this.#state(clientId, digest, pair),
      add: () => {
        const entry = { clientId, digest, at: this.#clock.now() };
        this.receive(entry);
        this.#verifiedPairs.set(pair, true);
        this.#options.onAdded?.(entry);
      },
      distrustCaller: () => void this.#distrustedPairs.set(pair, true),
    };
  }

  /** Adds an entry that another worker has verified. */
  readonly receive = (entry: VerifiedSecret): void => {
    if (this.#options.lifetimeSeconds === 0) return;
    // The bytes are a view of a larger buffer. They are copied, so that the buffer can be freed.
    this.#entries.set(entry.clientId, { ...entry, digest: Uint8Array.from(entry.digest) });
  };

  #state(clientId: string, digest: Uint8Array, pair: string): ReturnType<CachedVerification['state']> {
    const entry = this.#entries.get(clientId);
    if (entry === undefined || !timingSafeEqual(entry.digest, digest)) return 'absent';
    const age = this.#clock.now() - entry.at;
    const { lifetimeSeconds } = this.#options;
    if (age >= lifetimeSeconds) return 'absent';
    if (!this.#verifiedPairs.has(pair)) {
      if (this.#distrustedPairs.has(pair)) return 'absent';
      this.#verifiedPairs.set(pair, true);
    }
    return age < lifetimeSeconds * RENEWED_AFTER ? 'fresh' : 'expiring';
  }

  /** Each part follows its length, so that no two lists of parts give one text. */
  #digest({ clientId, clientSecret, stored }: PresentedSecret): Buffer {
    const parts = [clientId, clientSecret, stored?.kind ?? '', stored?.reveal() ?? ''];
    return createHmac('sha256', this.#key)
      .update(parts.map((part) => `${part.length}:${part}`).join(''))
      .digest();
  }
}
