import { type Connection, openConnection } from './connection.ts';
import type { TableDefinition } from './table-definition.ts';
import { assertUsable, readColumns } from './table-shape.ts';

/** How long a statement may take; half of it for a connection, and for a lock. */
export const DEADLINE_MS = 10_000;

interface ProgramDatabaseOptions {
  readonly poolSize: number;
  /** Throws TableUnusable if there is a better reason than that of the table alone. */
  readonly findTable?: (connection: Connection) => Promise<void>;
}

/** A table that a program manages, and that has to exist. It connects at the first use, and then finds out whether the table can be used. */
export async function openProgramDatabase(
  url: string | (() => string),
  table: TableDefinition,
  { poolSize, findTable }: ProgramDatabaseOptions,
) {
  const connection = await openConnection({ url, poolSize, deadlineMs: DEADLINE_MS }, table.schema);
  // A connection that breaks between two statements fails at the second.
  connection.pool.on('error', () => {});
  let prepared: Promise<void> | undefined;
  async function prepare(): Promise<void> {
    await findTable?.(connection);
    assertUsable(table, await readColumns(table, connection));
  }
  return {
    async connect() {
      prepared ??= prepare().catch((fault: unknown) => {
        prepared = undefined;
        throw fault;
      });
      await prepared;
      const client = await connection.pool.connect();
      const query = async <Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> => {
        const { rows } = await client.query<Row & object>(text, [...values]);
        return rows;
      };
      return {
        query,
        async run(text: string): Promise<void> {
          await client.query(text);
        },
        /** @param waitMs in place of the deadline. */
        async begin(text: string, waitMs = DEADLINE_MS): Promise<void> {
          // pg accepts a time limit for one statement here, although its types do not declare it.
          const statement = { text, query_timeout: waitMs };
          await client.query(statement);
        },
        /** Who has authenticated, whatever role it has taken since. */
        role: async () => (await query<{ readonly role: string }>('select session_user::text as "role"'))[0]?.role,
        release: (isBroken: boolean) => client.release(isBroken),
      };
    },
    load: () => connection.load(),
    close: () => connection.close(),
  };
}
