export interface KeyTimes {
  /** How long a key signs before the next takes over, in seconds; 0: for as long as the process lives. */
  readonly rotationSeconds: number;
  /** How long a key is published before it signs, in seconds: the time in which everybody who verifies gets to know it. */
  readonly publicationSeconds: number;
  /** The longest that a token is valid, in seconds. */
  readonly tokenLifetimeSeconds: number;
}

/**
 * Seconds that a published key is trusted beyond what is known of its holder. A replica that cannot reach the key
 * directory goes on signing for so long; one that was killed is forgotten after it and the lifetime of its tokens.
 */
export const LEASE_SECONDS = 3_600;

/**
 * When a key is published, signs, and is trusted, in whole seconds since the epoch. A key is known to all before it
 * signs and trusted until its last token has expired, so that no rotation makes a good token fail.
 */
export class KeySchedule {
  readonly publicationSeconds: number;
  readonly #rotationSeconds: number;
  readonly #tokenLifetimeSeconds: number;

  /** Throws RangeError where a key would have to be published before its predecessor signs. */
  constructor({ rotationSeconds, publicationSeconds, tokenLifetimeSeconds }: KeyTimes) {
    if (rotationSeconds !== 0 && rotationSeconds < 2 * publicationSeconds) {
      throw new RangeError('a key has to sign for at least twice the time for which it is published before');
    }
    this.publicationSeconds = publicationSeconds;
    this.#rotationSeconds = rotationSeconds;
    this.#tokenLifetimeSeconds = tokenLifetimeSeconds;
  }

  /** When the successor of a key that signs since `signsFrom` is to be published; Infinity where there is none. */
  successorPublishedAt(signsFrom: number): number {
    return this.#rotationSeconds === 0 ? Infinity : signsFrom + this.#rotationSeconds - this.publicationSeconds;
  }

  /** When a key signs at the earliest that was published by `publishedAt`, where others may hold a set without it. */
  knownToAllAt(publishedAt: number): number {
    return publishedAt + this.publicationSeconds;
  }

  /** When a successor that was published by `publishedAt` signs in the place of a key that signs since `signsFrom`. */
  successorSignsAt(signsFrom: number, publishedAt: number): number {
    return Math.max(signsFrom + this.#rotationSeconds, this.knownToAllAt(publishedAt));
  }

  /** When the last token of a key has expired that signed until `retiredAt`. */
  trustedUntil(retiredAt: number): number {
    return retiredAt + this.#tokenLifetimeSeconds;
  }

  /** Until when a key may sign on what was said of it at `publishedAt`. */
  maySignUntil(publishedAt: number): number {
    return publishedAt + LEASE_SECONDS;
  }

  /** Whether what was read of the directory at `learntAt` has every key that signs by now: one that was published later does not yet. */
  isComplete(learntAt: number, now: number): boolean {
    return now < this.knownToAllAt(learntAt);
  }

  /**
   * How long the published set may be kept by a reader, in seconds: never past the next publication, no longer than what
   * was learnt at `learntAt` is complete, and half of the time between publication and first use, the other half of
   * which is for the word to get around between replicas. A second less than complete, for the part of one that `now` lacks.
   */
  maxAgeSeconds(now: number, nextPublication: number, learntAt: number): number {
    const half = Math.floor(this.publicationSeconds / 2);
    return Math.max(0, Math.min(half, nextPublication - now, this.knownToAllAt(learntAt) - 1 - now));
  }
}
