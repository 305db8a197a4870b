import { createHmac, createSecretKey, hash, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../application/ports/clock.ts';
import type { CachedVerification, PresentedSecret, VerifiedSecrets } from '../../application/ports/verified-secrets.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** Secrets in the cache; the least recently used one is evicted. About 40 MB. */
const SECRETS_MAX = 100_000;

/** The part of an entry's lifetime after which it is due for another verification. */
const RENEWED_AFTER = 0.8;

/** The bytes of an HMAC-SHA-256, and of a SHA-256. */
const DIGEST_BYTES = 32;

interface VerifiedSecretCacheOptions {
  /** How long an entry is valid, in seconds; 0 disables the cache. */
  readonly lifetimeSeconds: number;
  readonly secretsMax?: number;
}

/** One entry of the cache. Worth nothing without the cache's key. */
interface VerifiedSecret {
  /** HMAC-SHA-256 of client id and presented secret, one character per byte. */
  readonly presented: string;
  /** SHA-256 of the stored secret, likewise. */
  readonly stored: string;
  /** When it was verified, in seconds since the epoch. */
  readonly at: number;
}

/**
 * Verified secrets, as digests under a key that was generated when the service started. An entry is valid only for the
 * stored secret that it was verified against, so a new, locked or removed one misses the cache at once.
 *
 * The cache answers faster than BCrypt, so it would answer guesses faster too. Use it only while `VerificationSlots` has
 * attempts left for the caller.
 */
export class VerifiedSecretCache implements VerifiedSecrets {
  readonly #clock: Clock;
  readonly #options: VerifiedSecretCacheOptions;
  // With a KeyObject, a digest takes a fifth of the time that it takes with the key's bytes.
  readonly #key: KeyObject = createSecretKey(randomBytes(32));
  readonly #entries: LRUCache<string, VerifiedSecret>;
  #lookUps = 0;
  #hits = 0;

  constructor(clock: Clock, options: VerifiedSecretCacheOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#entries = new LRUCache({ max: options.secretsMax ?? SECRETS_MAX });
  }

  /** Secrets in the cache. */
  get size(): number {
    return this.#entries.size;
  }

  /** The most secrets in the cache. */
  get max(): number {
    return this.#entries.max;
  }

  /** Look-ups since the start, one for each presented secret. */
  get lookUps(): number {
    return this.#lookUps;
  }

  /** The look-ups that spared a verification. */
  get hits(): number {
    return this.#hits;
  }

  lookUp({ clientId, clientSecret, secretId }: PresentedSecret): CachedVerification {
    this.#lookUps += 1;
    let isHit = false;
    const presented = this.#digest(clientId, clientSecret);
    const place = placeOf(clientId, secretId);
    const entry = () => {
      const found = this.#entries.get(place);
      return found !== undefined && isEqual(found.presented, presented) ? found : undefined;
    };
    return {
      state: () => this.#stateOf(entry()),
      isFor: (stored) => {
        const expected = entry()?.stored;
        const isForStored = expected !== undefined && isEqual(expected, digestOf(stored));
        if (isForStored && !isHit) {
          isHit = true;
          this.#hits += 1;
        }
        return isForStored;
      },
      add: (stored) => {
        if (this.#options.lifetimeSeconds === 0) return;
        const entry = { presented, stored: digestOf(stored), at: this.#clock.now() };
        this.#entries.set(placeOf(clientId, copyOf(secretId)), entry);
      },
    };
  }

  #stateOf(entry: VerifiedSecret | undefined): ReturnType<CachedVerification['state']> {
    const { lifetimeSeconds } = this.#options;
    const age = entry === undefined ? lifetimeSeconds : this.#clock.now() - entry.at;
    // A negative age: the clock was set back, and nobody knows how old the entry is.
    if (age >= lifetimeSeconds || age < 0) return 'absent';
    return age < lifetimeSeconds * RENEWED_AFTER ? 'fresh' : 'expiring';
  }

  /** Each part follows its length, so that no two lists of parts give one text. */
  #digest(...parts: readonly string[]): string {
    // A text: to allocate a Buffer for each digest takes longer than to compute it.
    return createHmac('sha256', this.#key)
      .update(parts.map((part) => `${part.length}:${part}`).join(''))
      .digest('binary');
  }
}

/**
 * Without the key, which takes a fifth of the time: BCrypt resists guessing by itself, and a secret that is stored in clear is in
 * memory anyway.
 */
function digestOf(stored: StoredSecret): string {
  return hash('sha256', `${stored.kind}:${stored.reveal()}`, 'binary');
}

/** Each secret of a client has its own place. Without an id, that is the client id itself: no client id contains a NUL. */
function placeOf(clientId: string, secretId: string | undefined): string {
  return secretId === undefined ? clientId : `${clientId}\0${secretId}`;
}

/** A part of a text holds the whole text in memory, which here is the secret. The id is ASCII. */
function copyOf(secretId: string | undefined): string | undefined {
  return secretId === undefined ? undefined : Buffer.from(secretId, 'latin1').toString('latin1');
}

const [ONE, OTHER] = [Buffer.alloc(DIGEST_BYTES), Buffer.alloc(DIGEST_BYTES)];

/** Compares two digests in a time that does not depend on them. */
function isEqual(one: string, other: string): boolean {
  ONE.write(one, 'latin1');
  OTHER.write(other, 'latin1');
  return timingSafeEqual(ONE, OTHER);
}
