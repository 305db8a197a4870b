import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ClientCredentials } from '../../application/ports/client-credentials.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** Clients that are remembered at once; beyond them, those who came longest ago are checked again. About 30 MB. */
const CLIENTS_MAX = 100_000;

/** Of the time for which a match is remembered, the part after which it is looked at again. */
const STALE_AFTER = 0.8;

/** One match, as workers of one service tell each other. Worth nothing without the key. */
export interface Match {
  readonly clientId: string;
  readonly digest: Uint8Array;
  /** Seconds since the epoch. */
  readonly at: number;
}

/** `stale`: good for a while yet, and time to look again. */
export type Recollection = 'fresh' | 'stale' | undefined;

/**
 * The secrets that proved good. What is kept is a digest of client id, presented secret and stored hash, under a key that
 * was made at the start and that nobody outside of this service has: it is worth nothing elsewhere. Since the stored hash
 * is part of it, a new, locked or removed secret is forgotten at once.
 */
export class RememberedSecrets {
  readonly #clock: Clock;
  readonly #seconds: number;
  // As bytes it would be looked through anew for each digest, which takes five times as long.
  readonly #key: KeyObject;
  readonly #matches: LRUCache<string, Match>;
  readonly #onAdded: (match: Match) => void;

  /**
   * @param key 32 random bytes.
   * @param seconds how long a match is remembered.
   * @param onAdded told of each match that is new here.
   */
  constructor(
    clock: Clock,
    key: Uint8Array,
    seconds: number,
    onAdded: (match: Match) => void = () => {},
    clientsMax = CLIENTS_MAX,
  ) {
    this.#clock = clock;
    this.#seconds = seconds;
    this.#key = createSecretKey(key);
    this.#onAdded = onAdded;
    this.#matches = new LRUCache({ max: clientsMax });
  }

  /** Each part behind its length, so that no two lists of parts give one text. Costs the same for an unknown client. */
  digest({ clientId, clientSecret }: ClientCredentials, stored: StoredSecret | undefined): Buffer {
    const parts = [clientId, clientSecret, stored?.kind ?? '', stored?.reveal() ?? ''];
    return createHmac('sha256', this.#key)
      .update(parts.map((part) => `${part.length}:${part}`).join(''))
      .digest();
  }

  recall(clientId: string, digest: Uint8Array): Recollection {
    const match = this.#matches.get(clientId);
    if (match === undefined || !timingSafeEqual(match.digest, digest)) return undefined;
    const age = this.#clock.now() - match.at;
    if (age >= this.#seconds) return undefined;
    return age < this.#seconds * STALE_AFTER ? 'fresh' : 'stale';
  }

  add(clientId: string, digest: Uint8Array): void {
    const match = { clientId, digest, at: this.#clock.now() };
    this.take(match);
    this.#onAdded(match);
  }

  /** Learns what a fellow worker found out. */
  take(match: Match): void {
    // What came over a pipe is a view of all that was read at once.
    this.#matches.set(match.clientId, { ...match, digest: Uint8Array.from(match.digest) });
  }
}
