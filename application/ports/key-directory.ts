import type { TokenKey } from '../../domain/token-key.ts';

/**
 * A public key of one of the replicas, and for how many more seconds one of its tokens may be valid. A duration, so that
 * only the clock of the directory matters, and the clocks of replicas do not. A directory may round it up, never down.
 */
export interface SharedKey {
  readonly jwk: TokenKey;
  readonly trustedSeconds: number;
}

export interface DirectoryAnswer {
  /** Every key that is trusted now, without the revoked ones. */
  readonly keys: readonly SharedKey[];
  /** The ids of those that replicas of a version published which verifies only RS256. */
  readonly ofOlderVersions: readonly string[];
  /** The ids of the revoked ones among the keys that were given. */
  readonly revoked: readonly string[];
  /** The time of the directory's own clock, in seconds since the epoch; undefined if it has none. */
  readonly time: number | undefined;
}

/**
 * Where the replicas of the service share their public keys. Private keys never get here: they stay in the processes of
 * one service on one machine.
 */
export interface KeyDirectory {
  /**
   * Adds these keys, or updates their times, except for revoked ones, which stay away; deletes keys that have not been
   * trusted for some time; returns every key that is trusted now, including these. Atomic: of two replicas that publish
   * for the first time, the later one sees the key of the earlier one. Throws DependencyUnavailable.
   */
  publish(keys: readonly SharedKey[]): Promise<DirectoryAnswer>;

  /** Every key that is trusted now. Throws DependencyUnavailable. */
  read(): Promise<DirectoryAnswer>;
}
