/** Learns of each change of a storage that operators manage. */
export interface ChangeRecorder<Made> {
  /**
   * Called when everything is done except that the change is not committed, which waits for it. Where it throws or
   * rejects, nothing is changed, and the method of the storage throws the same.
   */
  record(change: Made, databaseRole: string | undefined): void | Promise<void>;

  /** The change that was recorded last could not be committed, or nobody knows whether it was. Never throws. */
  unconfirmed(): void;
}
