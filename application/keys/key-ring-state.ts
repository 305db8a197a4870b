import type { TrustedKey } from '../ports/key-directory.ts';

/** A key ring at a moment, without private keys. Times in seconds since the epoch. */
export interface KeyRingState {
  /** The key that signs, and between which times it may; undefined where there is none yet. */
  readonly signing: { readonly kid: string; readonly from: number; readonly until: number } | undefined;
  /** Every key that is published, of this service and of its fellow replicas. */
  readonly trusted: readonly TrustedKey[];
  /** When the next key is published; Infinity where that is not known. */
  readonly nextPublication: number;
  /** When the key directory was asked for what is known of the others; -Infinity before the first time. */
  readonly learntAt: number;
}
