import { setImmediate } from 'node:timers/promises';
import type { LastUsed, LastUsedDays } from '../../../application/ports/last-used.ts';
import { partsOf } from '../parts-of.ts';

/** What is needed of a database that may have the table `last_used`. */
interface LastUsedTable {
  /** Throws DependencyUnavailable. */
  query<Row>(text: string, values?: readonly (string | null)[]): Promise<readonly Row[]>;
  /** Whether a fault means that the table was never created. */
  isMissing?(fault: unknown): boolean;
}

interface LastUsedRow {
  readonly clientId: string;
  readonly lastDay: string | number;
}

/** In place of a client: the first day that was recorded. */
const SINCE = '';

/** The most clients of one statement. */
const AT_ONCE = 500;

/** The table `last_used`: a row for each client. */
export class SqlLastUsed implements LastUsed {
  readonly #table: LastUsedTable;

  constructor(table: LastUsedTable) {
    this.#table = table;
  }

  async record(days: ReadonlyMap<string, number>, today: number): Promise<void> {
    await this.#table.query(
      'insert into last_used (client_id, last_day) values ($1, cast($2 as integer)) on conflict (client_id) do nothing',
      [SINCE, String(today)],
    );
    // In order, so that two replicas do not wait for each other.
    const entries = [...days].sort(([one], [other]) => (one < other ? -1 : 1));
    for (const part of partsOf(entries, AT_ONCE)) {
      // SQLite runs a statement on the event loop: requests come between two of them.
      await setImmediate();
      const rows = part.map((_, index) => `($${2 * index + 1}, cast($${2 * index + 2} as integer))`);
      await this.#table.query(
        `insert into last_used (client_id, last_day) values ${rows.join(', ')}
          on conflict (client_id) do update set last_day = excluded.last_day where last_used.last_day < excluded.last_day`,
        part.flatMap(([clientId, day]) => [clientId, String(day)]),
      );
    }
  }

  async find(clientIds: readonly string[]): Promise<LastUsedDays> {
    const days = new Map<string, number>();
    for (const part of partsOf([SINCE, ...clientIds], AT_ONCE)) {
      const rows = await this.#onKept<LastUsedRow>(
        `select client_id as "clientId", last_day as "lastDay" from last_used where client_id in (${placesOf(part)})`,
        part,
      );
      for (const { clientId, lastDay } of rows) days.set(clientId, Number(lastDay));
    }
    const since = days.get(SINCE);
    days.delete(SINCE);
    return { since, days };
  }

  async forget(clientIds: readonly string[]): Promise<void> {
    for (const part of partsOf(clientIds, AT_ONCE)) {
      await this.#onKept(`delete from last_used where client_id in (${placesOf(part)})`, part);
    }
  }

  async #onKept<Row>(text: string, values: readonly string[]): Promise<readonly Row[]> {
    try {
      return await this.#table.query<Row>(text, values);
    } catch (fault) {
      if (this.#table.isMissing?.(fault)) return [];
      throw fault;
    }
  }
}

function placesOf(values: readonly unknown[]): string {
  return values.map((_, index) => `$${index + 1}`).join(', ');
}
