import type { KeyPlan } from '../../domain/key-chain.ts';

/**
 * A row of the key ring. Only what is sealed says what a key is; the rest serves look-ups, and narrows it: `endedAt`
 * and `revokedAt`. Times in whole seconds since the epoch, by the clock of the storage.
 */
export interface KeyRow {
  readonly kid: string;
  /** Undefined, as `step`, where a key was revoked that the ring has never had. */
  readonly algorithm: string | undefined;
  readonly step: number | undefined;
  /** Undefined once the key is revoked. */
  readonly sealed: string | undefined;
  readonly createdAt: number;
  /** When it has been published for long enough. */
  readonly knownAt: number;
  readonly signsFrom: number;
  /** Until then the row is kept, if it is revoked too. */
  readonly verifiesUntil: number;
  readonly endedAt: number | undefined;
  readonly revokedAt: number | undefined;
}

/** A key to add, at a planned time. */
export interface SealedKey extends KeyPlan {
  readonly kid: string;
  readonly sealed: string;
  readonly publicationSeconds: number;
  /** From this second on it must not be added any more: the plan is out of date. */
  readonly addedBefore: number;
}

export interface KeyRows {
  /** In no order. */
  readonly rows: readonly KeyRow[];
  /**
   * The time of the storage's clock, in seconds with fractions. Undefined: the times are those of this process's
   * monotonic clock.
   */
  readonly time: number | undefined;
}

/** Where the replicas of the service share the keys that sign, sealed. */
export interface KeyRingStore {
  /** Every row, at most 1000. Throws DependencyUnavailable, within three seconds. */
  read(): Promise<KeyRows>;

  /**
   * Adds a key, unless there is one of its algorithm and step, or it is too late; deletes those that ended an hour ago,
   * but not the last ones. Whether it was added, `read` says. Throws DependencyUnavailable, and then the key may have
   * been added.
   */
  add(key: SealedKey): Promise<void>;

  /**
   * Writes back rows that were lost, unless there is another one of their id, or of their algorithm and step. Throws
   * DependencyUnavailable.
   */
  restore(rows: readonly KeyRow[]): Promise<void>;
}

/** More rows than any ring has. They have to be read as a whole. */
export const KEY_ROWS_MAX = 1_000;

/** How long a row is kept after its end, in seconds. */
export const KEPT_SECONDS = 3_600;

/** So many steps of an algorithm are kept whatever the clock says, which may jump ahead and back. */
export const KEPT_STEPS = 100;
