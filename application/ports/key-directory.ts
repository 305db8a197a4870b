import type { PublicKeyJwk } from './key-provider.ts';

/** A public key of one of the replicas, and until when a token of it may be alive, in seconds since the epoch. */
export interface TrustedKey {
  readonly jwk: PublicKeyJwk;
  readonly trustedUntil: number;
}

/** Where replicas tell each other their public keys. Private keys never leave the process that made them. */
export interface KeyDirectory {
  /**
   * Writes these keys, or the new times of those that are there, forgets what is trusted no more at `now`, and answers
   * every key that is trusted then, these included. At once for all: of two replicas that publish for the first time,
   * the later one sees the key of the earlier. Throws DependencyUnavailable where the directory is out of reach.
   */
  publish(keys: readonly TrustedKey[], now: number): Promise<readonly TrustedKey[]>;

  /** Every key that is trusted at `now`. Throws DependencyUnavailable. */
  trusted(now: number): Promise<readonly TrustedKey[]>;
}
