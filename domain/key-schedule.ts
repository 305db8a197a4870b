export interface KeyTimes {
  /** How long a key signs before the next one replaces it, in seconds; 0: as long as the process lives. */
  readonly rotationSeconds: number;
  /** How long a key is published before it signs, in seconds: the time in which every verifier gets to know it. */
  readonly publicationSeconds: number;
  /** The longest that a token is valid, in seconds. */
  readonly tokenLifetimeSeconds: number;
  /**
   * Whether a successor is published as soon as possible, and not only in time for the rotation. It then stands by in
   * case the key that signs is revoked, and verifiers that cache key sets for hours know it at the rotation.
   */
  readonly standby?: boolean;
}

/**
 * How long a key may sign after its last publication, in seconds. A replica that cannot reach the key directory keeps
 * signing for this long. The key of a replica that was killed stays trusted for this long and one token lifetime.
 */
const LEASE_SECONDS = 3_600;

/** The longest that the keys read from the directory are recent, in seconds: a flood of unknown key ids causes one query in this time. */
const RECENT_SECONDS_MAX = 5;

/**
 * When a key is published, signs and is trusted, in whole seconds of one clock, which nobody may set. Every verifier can know a key before
 * it signs, and trusts it until its last token has expired. So a rotation never makes a valid token fail.
 */
export class KeySchedule {
  readonly #times: KeyTimes;

  /** Throws RangeError if a key would have to be published before its predecessor signs. */
  constructor(times: KeyTimes) {
    const { rotationSeconds, publicationSeconds } = times;
    if (rotationSeconds !== 0 && rotationSeconds < 2 * publicationSeconds) {
      throw new RangeError('a key has to sign for at least twice the time for which it is published before');
    }
    this.#times = times;
  }

  /** When to publish the successor of a key that signs from `signsFrom`; Infinity without rotation and standby. */
  successorPublishedAt(signsFrom: number): number {
    const { rotationSeconds, publicationSeconds, standby } = this.#times;
    if (standby) return this.knownToAllAt(signsFrom);
    return rotationSeconds === 0 ? Infinity : signsFrom + rotationSeconds - publicationSeconds;
  }

  /** When every verifier can know a key that was published at `publishedAt`. */
  knownToAllAt(publishedAt: number): number {
    return publishedAt + this.#times.publicationSeconds;
  }

  /** When a successor that was published at `publishedAt` replaces a key that signs from `signsFrom`; Infinity without rotation. */
  successorSignsAt(signsFrom: number, publishedAt: number): number {
    const { rotationSeconds } = this.#times;
    if (rotationSeconds === 0) return Infinity;
    return Math.max(signsFrom + rotationSeconds, this.knownToAllAt(publishedAt));
  }

  /** When the last token has expired of a key that signed until `retiredAt`. */
  trustedUntil(retiredAt: number): number {
    return retiredAt + this.#times.tokenLifetimeSeconds;
  }

  /** Until when a key may sign that was last published at `publishedAt`. */
  maySignUntil(publishedAt: number): number {
    return publishedAt + LEASE_SECONDS;
  }

  /**
   * Whether the keys that were read at `readAt` are recent enough to refuse an unknown key id without another query:
   * read within the last 5 seconds, and complete, as a key that was published since may not sign yet.
   */
  isRecent(readAt: number, now: number): boolean {
    return now - readAt < RECENT_SECONDS_MAX && now < this.knownToAllAt(readAt);
  }

  /**
   * How long a reader may cache the key set, in seconds: until the next publication at most, while the keys that were
   * read from the directory at `readAt` are complete, and never longer than half of the publication time. In the other
   * half, the replicas read a new key from each other. One second less than complete, since `now` is rounded down.
   */
  maxAgeSeconds(now: number, nextPublication: number, readAt: number): number {
    const half = Math.floor(this.#times.publicationSeconds / 2);
    return Math.max(0, Math.min(half, nextPublication - now, this.knownToAllAt(readAt) - 1 - now));
  }
}
