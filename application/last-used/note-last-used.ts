import { PeriodicTask } from '../periodic-task.ts';
import type { Clock } from '../ports/clock.ts';
import { DAY_SECONDS, type LastUsed } from '../ports/last-used.ts';

/** Clients that are kept between two writes. Those beyond it are noted when they get their next token after a write. */
export const NOTED_MAX = 200_000;

/** Milliseconds between writes, and up to so many more: replicas that start together do not write together. */
const [WRITE_EVERY_MS, SPREAD_MS] = [3_600_000, 600_000];

/** Notes on which day each client got its last token: in memory, and once in an hour in the storage. */
export class NoteLastUsed {
  readonly #store: Pick<LastUsed, 'record'>;
  readonly #clock: Clock;
  readonly #max: number;
  #days = new Map<string, number>();
  readonly #writing = new PeriodicTask(async () => {
    // The next write has them.
    await this.write().catch(() => {});
    return WRITE_EVERY_MS + Math.random() * SPREAD_MS;
  });

  /** @param clock that of tokens. */
  constructor(store: Pick<LastUsed, 'record'>, clock: Clock, max = NOTED_MAX) {
    this.#store = store;
    this.#clock = clock;
    this.#max = max;
  }

  get noted(): number {
    return this.#days.size;
  }

  note(clientId: string): void {
    if (this.#days.size < this.#max || this.#days.has(clientId)) this.#days.set(clientId, this.#today());
  }

  /** The first write notes since when there is a record. */
  start(): void {
    void this.#writing.start();
  }

  /** Writes what is noted. A fault keeps it. */
  async write(): Promise<void> {
    const days = this.#days;
    this.#days = new Map();
    try {
      await this.#store.record(days, this.#today());
    } catch (fault) {
      for (const [clientId, day] of days) {
        if (!this.#days.has(clientId) && this.#days.size < this.#max) this.#days.set(clientId, day);
      }
      throw fault;
    }
  }

  async close(): Promise<void> {
    this.#writing.close();
    if (this.#days.size > 0) await this.write().catch(() => {});
  }

  #today(): number {
    return Math.floor(this.#clock.now() / DAY_SECONDS);
  }
}
