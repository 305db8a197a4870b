/**
 * The days, counted from 1970 in UTC, on which clients got their last tokens. A storage keeps them apart from the
 * registrations. Throws DependencyUnavailable.
 */
export interface LastUsed {
  /**
   * Stores these days, by client id, where they are later than what is stored. The first call notes since when they are
   * recorded.
   */
  record(days: ReadonlyMap<string, number>, today: number): Promise<void>;

  /** What is known of these clients. */
  find(clientIds: readonly string[]): Promise<LastUsedDays>;

  /** Forgets these clients, which are removed. */
  forget(clientIds: readonly string[]): Promise<void>;
}

export interface LastUsedDays {
  /** The first day that was recorded; undefined if none was, or the database has no place for it. */
  readonly since: number | undefined;
  /** By client id. */
  readonly days: ReadonlyMap<string, number>;
}

export const DAY_SECONDS = 86_400;

/** Such as 2026-11-29. */
export function dateOf(day: number): string {
  return new Date(day * DAY_SECONDS * 1_000).toISOString().slice(0, 10);
}
