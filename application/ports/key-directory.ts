import type { PublicKeyJwk } from './key-provider.ts';

/** A public key of one of the replicas, and the time until which one of its tokens may be valid, in seconds since the epoch. */
export interface TrustedKey {
  readonly jwk: PublicKeyJwk;
  readonly trustedUntil: number;
}

/**
 * Where the replicas of the service share their public keys. Private keys never get here: they stay in the processes of
 * one service on one machine. With several workers, the primary sends its signing key to them over their pipes.
 */
export interface KeyDirectory {
  /**
   * Adds these keys, or updates their times; deletes the keys that are no longer trusted at `now`; returns every key
   * that is trusted then, including these. Atomic: of two replicas that publish for the first time, the later one sees
   * the key of the earlier one. Throws DependencyUnavailable.
   */
  publish(keys: readonly TrustedKey[], now: number): Promise<readonly TrustedKey[]>;

  /** Every key that is trusted at `now`. Throws DependencyUnavailable. */
  trusted(now: number): Promise<readonly TrustedKey[]>;
}
