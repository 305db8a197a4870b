/**
 * How many attempts of a client id may fail at one network, in a while. Neither method fails, costs more than a digest,
 * or depends on whether the client is registered.
 */
export interface Attempts {
  /** Whether there is an attempt left. If not, no secret may be compared with anything, not even with the cache. */
  areLeft(clientId: string, network: string): boolean;

  /** Counts an attempt as failed, before its secret is compared with anything. */
  count(clientId: string, network: string): CountedAttempt;
}

export interface CountedAttempt {
  /**
   * Whether it is one too many, which is possible now and then. If its secret is wrong, it is refused as those are that
   * were not compared.
   */
  readonly isBeyond: boolean;

  /** Takes it off again. Call this once if the secret is right, or if a fault kept it from being compared. */
  takeOff(): void;
}

/** No limit. */
export const UNLIMITED_ATTEMPTS: Attempts = {
  areLeft: () => true,
  count: () => ({ isBeyond: false, takeOff: () => {} }),
};
