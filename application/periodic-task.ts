/** Work that is done again and again in the background, one run after the other. Does not keep the process alive. */
export class PeriodicTask {
  readonly #run: () => Promise<number | undefined>;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param run resolves with the milliseconds until the next run; undefined: there is none. Never rejects. */
  constructor(run: () => Promise<number | undefined>) {
    this.#run = run;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves after the first run. */
  async start(): Promise<void> {
    const waitMs = await this.#run();
    if (waitMs !== undefined && !this.#isClosed) this.#timer = setTimeout(() => void this.start(), waitMs).unref();
  }

  /** Starts no other run. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
