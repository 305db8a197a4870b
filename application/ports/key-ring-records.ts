import type { KeyRows } from './key-ring-store.ts';

/** What an operator has changed in the ring. Times in seconds since the epoch. */
export type KeyRingChange =
  | { readonly change: 'revoked'; readonly kid: string; readonly verifiesUntil: number | undefined }
  | { readonly change: 'ended'; readonly kid: string; readonly endsAt: number };

/** The key ring, as an operator manages it, without a secret. All methods throw DependencyUnavailable. */
export interface KeyRingRecords {
  list(): Promise<KeyRows>;

  /**
   * Revokes a key for good, also one that the ring does not know; or every key of the ring. What is sealed is erased,
   * and the row stays until no token of the key can be valid. Returns the ids that were not revoked before.
   */
  revoke(which: { readonly kid: string } | 'all'): Promise<readonly string[]>;

  /** From this time on the key signs nothing, unless it is to end earlier anyway. */
  end(kid: string, endsAt: number): Promise<void>;
}

/**
 * How long the tombstone of a key is kept that the ring does not know, in seconds: two years. The seal of a key that a
 * backup brings back ends earlier, since the longest rotation is a year.
 */
export const UNKNOWN_KEPT_SECONDS = 2 * 366 * 86_400;
