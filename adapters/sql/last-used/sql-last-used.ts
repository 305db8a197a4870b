import { setImmediate } from 'node:timers/promises';
import type { Compilable } from 'kysely';
import type { LastUsed, LastUsedDays } from '../../../application/ports/last-used.ts';
import { partsOf } from '../parts-of.ts';
import type { SqlDatabase, SqlTables } from '../sql-database.ts';

/** In place of a client: the first day that was recorded. */
const SINCE = '';

/** The most clients of one statement. */
const AT_ONCE = 500;

/** The table `last_used`: a row for each client. It may have never been created. */
export class SqlLastUsed implements LastUsed {
  readonly #tables: SqlTables & Partial<Pick<SqlDatabase, 'isMissing'>>;

  constructor(tables: SqlTables & Partial<Pick<SqlDatabase, 'isMissing'>>) {
    this.#tables = tables;
  }

  async record(days: ReadonlyMap<string, number>, today: number): Promise<void> {
    const insert = this.#tables.db.insertInto('last_used');
    await this.#tables.query(
      insert.values({ client_id: SINCE, last_day: today }).onConflict((taken) => taken.column('client_id').doNothing()),
    );
    // In order, so that two replicas do not wait for each other.
    const entries = [...days].sort(([one], [other]) => (one < other ? -1 : 1));
    for (const part of partsOf(entries, AT_ONCE)) {
      // SQLite runs a statement on the event loop: requests come between two of them.
      await setImmediate();
      await this.#tables.query(
        insert.values(part.map(([client_id, last_day]) => ({ client_id, last_day }))).onConflict((known) =>
          known
            .column('client_id')
            .doUpdateSet(({ ref }) => ({ last_day: ref('excluded.last_day') }))
            .whereRef('last_used.last_day', '<', 'excluded.last_day'),
        ),
      );
    }
  }

  async find(clientIds: readonly string[]): Promise<LastUsedDays> {
    const days = new Map<string, number>();
    for (const part of partsOf([SINCE, ...clientIds], AT_ONCE)) {
      const rows = await this.#onKept(
        this.#tables.db.selectFrom('last_used').select(['client_id', 'last_day']).where('client_id', 'in', part),
      );
      for (const { client_id, last_day } of rows) days.set(client_id, last_day);
    }
    const since = days.get(SINCE);
    days.delete(SINCE);
    return { since, days };
  }

  async forget(clientIds: readonly string[]): Promise<void> {
    for (const part of partsOf(clientIds, AT_ONCE)) {
      await this.#onKept(this.#tables.db.deleteFrom('last_used').where('client_id', 'in', part));
    }
  }

  async #onKept<Row>(statement: Compilable<Row>): Promise<readonly Row[]> {
    try {
      return await this.#tables.query(statement);
    } catch (fault) {
      if (this.#tables.isMissing?.(fault)) return [];
      throw fault;
    }
  }
}
