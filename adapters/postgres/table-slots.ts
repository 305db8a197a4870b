import type { PoolLoad } from '../../application/ports/telemetry.ts';

/** At most so many statements wait for a slot of one table: all tables together stay below the requests that are handled at once. */
export const WAITING_MAX = 200;

interface Waiter {
  readonly table: string;
  readonly start: () => void;
}

/**
 * Shares a pool of connections among tables that only some requests need. While one of them is locked, each statement holds
 * its connection until the lock timeout. So one connection is always left for statements without a slot, and if the pool has
 * three or more, another one for the other tables. A table that probes have found locked gets one only.
 */
export class TableSlots {
  readonly #max: number;
  readonly #maxEach: number;
  readonly #waitMs: number;
  readonly #isWell: (table: string) => boolean;
  readonly #held = new Map<string, number>();
  #waiting: Waiter[] = [];

  /** @param waitMs the longest wait for a slot, in milliseconds. */
  constructor(poolSize: number, waitMs: number, isWell: (table: string) => boolean) {
    this.#max = Math.max(1, poolSize - 1);
    this.#maxEach = Math.max(1, poolSize - 2);
    this.#waitMs = waitMs;
    this.#isWell = isWell;
  }

  /** The connections of a table at this moment, of which none is idle, and the statements that wait for one. */
  load(table: string): PoolLoad {
    return { open: this.#held.get(table) ?? 0, max: this.#maxEach, idle: 0, waiting: this.#waitingFor(table) };
  }

  /** Does the work with a slot of the table. Rejects at once if too many wait, and if none becomes free in time. */
  async hold<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
    if (!this.#take(table)) await this.#wait(table);
    try {
      return await work();
    } finally {
      this.#held.set(table, (this.#held.get(table) ?? 0) - 1);
      const next = this.#waiting.find((waiter) => this.#take(waiter.table));
      this.#leave(next);
      next?.start();
    }
  }

  #take(table: string): boolean {
    const held = this.#held.get(table) ?? 0;
    const total = this.#held.values().reduce((sum, count) => sum + count, 0);
    if (held >= (this.#isWell(table) ? this.#maxEach : 1) || total >= this.#max) return false;
    this.#held.set(table, held + 1);
    return true;
  }

  #waitingFor(table: string): number {
    return this.#waiting.filter((waiter) => waiter.table === table).length;
  }

  async #wait(table: string): Promise<void> {
    if (this.#waitingFor(table) >= WAITING_MAX) {
      throw new Error(`${WAITING_MAX} statements already wait for the table ${table}`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => reject(new Error(`no statement on the table ${table} ended within ${this.#waitMs} ms`));
    const timer = setTimeout(giveUp, this.#waitMs).unref();
    const waiter = { table, start: resolve };
    this.#waiting.push(waiter);
    await promise.finally(() => {
      clearTimeout(timer);
      this.#leave(waiter);
    });
  }

  #leave(waiter: Waiter | undefined): void {
    this.#waiting = this.#waiting.filter((other) => other !== waiter);
  }
}
