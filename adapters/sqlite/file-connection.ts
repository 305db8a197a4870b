import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { type Compilable, sql } from 'kysely';
import type { SqlBuilder, SqlConnection } from '../sql/sql-database.ts';
import { statementBuilder } from '../sql/statement-builder.ts';

/** What builds statements for SQLite. */
export const SQLITE: SqlBuilder = {
  db: statementBuilder('sqlite'),
  dialect: {
    clientId: sql`client_id collate binary`,
    locksRows: false,
    document: sql`text`,
    elementsOf: (array) => sql`json_each(${array})`,
    owner: sql`case when json_valid(details) then details ->> 'owner' end`,
    count: sql`count(*)`,
    now: sql`unixepoch('now')`,
    exactNow: sql`unixepoch('subsec')`,
  },
};

/** Statements for a program, on a file that is open. */
export function connectionTo(database: DatabaseSync): Pick<SqlConnection, 'query' | 'end' | 'role'> {
  return {
    async query<Row>(statement: Compilable<Row>) {
      const { sql: text, parameters } = statement.compile();
      const rows = database.prepare(text).all(...(parameters as readonly SQLInputValue[]));
      // Rows have no prototype.
      return rows.map((row) => ({ ...row })) as unknown as readonly Row[];
    },
    end: async (how) => database.exec(how),
    role: async () => undefined,
  };
}
