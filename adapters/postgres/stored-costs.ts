/** After a failure, the next attempt starts this long after the last one, then after twice as long, up to the longest. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 300_000;

/** Reads once which BCrypt costs stored secrets have: when the service starts, or as soon as that is possible. */
export class StoredCosts {
  readonly #find: () => Promise<readonly number[] | undefined>;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param find resolves with undefined if the costs could not be read. Never rejects. */
  constructor(find: () => Promise<readonly number[] | undefined>) {
    this.#find = find;
  }

  /** Resolves after the first attempt. */
  async start(onFound: (costs: readonly number[]) => void, retryMs = FIRST_RETRY_MS): Promise<void> {
    const costs = await this.#find();
    if (costs !== undefined) return onFound(costs);
    if (this.#closed) return;
    const nextMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    this.#timer = setTimeout(() => void this.start(onFound, nextMs), retryMs).unref();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }
}
