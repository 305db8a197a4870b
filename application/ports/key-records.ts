/** What the key directory knows about a key. Times in seconds since the epoch, by the clock of the directory. */
export interface KeyRecord {
  readonly kid: string;
  /** The host and the process that publish it; undefined if its replica runs an older version. */
  readonly replica: string | undefined;
  readonly algorithm: string;
  /** When it was published first; undefined as above. */
  readonly publishedAt: number | undefined;
  /** Until when its tokens may be valid if it is not published again; undefined if it is revoked. */
  readonly trustedUntil: number | undefined;
  /** Undefined unless it is revoked. */
  readonly revokedAt: number | undefined;
}

/** The shared key directory, as an operator sees it in an emergency. */
export interface KeyRecords {
  /** Every key that is trusted or revoked, in order of the ids. Throws DependencyUnavailable. */
  list(): Promise<readonly KeyRecord[]>;

  /**
   * Revokes a key, for good: no replica trusts it again when it has read the directory, and `publish` does not bring it
   * back. Returns its record, of a key that was revoked before too, or undefined if the directory does not know the id.
   * Throws DependencyUnavailable.
   */
  revoke(kid: string): Promise<KeyRecord | undefined>;
}
