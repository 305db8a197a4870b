import type { ExpiringCredentials } from '../../domain/client-details.ts';

/** Between two counts. What expires within 30 days changes slowly. */
const INTERVAL_MS = 60_000;

/** Counts at an interval, so that nobody who reads the metrics waits for the database. */
export class ExpiringCount {
  readonly #count: () => Promise<Partial<ExpiringCredentials>>;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** The last count, without what could not be counted: a count that failed, or a table that is missing. */
  latest: Partial<ExpiringCredentials> = {};

  /** @param count never rejects. */
  constructor(count: () => Promise<Partial<ExpiringCredentials>>) {
    this.#count = count;
  }

  /** Resolves after the first count. */
  async start(intervalMs = INTERVAL_MS): Promise<void> {
    this.latest = await this.#count();
    if (!this.#closed) this.#timer = setTimeout(() => void this.start(intervalMs), intervalMs).unref();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }
}
