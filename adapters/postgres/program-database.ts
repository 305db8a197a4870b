import type { Compilable } from 'kysely';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { problemIn } from '../../domain/problem.ts';
import type { SqlConnection, SqlDatabase } from '../sql/sql-database.ts';
import { type Connection, openConnection } from './connection.ts';
import { loggableFault } from './fault.ts';
import { POSTGRES } from './postgres-dialect.ts';
import { statementOf } from './runner.ts';
import { assertUsable, readColumns } from './table-shape.ts';
import type { TableDefinition } from './tables.ts';

/** How long a statement may take; half of it for a connection, and for a lock. */
export const DEADLINE_MS = 10_000;

interface ProgramDatabaseOptions {
  /** The name of the dependency if it fails. */
  readonly name: string;
  readonly poolSize?: number;
  /** Throws TableUnusable if there is a better reason than that of the table alone. */
  readonly findTable?: (connection: Connection) => Promise<void>;
  /** What begins a transaction, by what it locks, and how long it may wait in milliseconds. */
  readonly begin?: Readonly<Record<'rows' | 'table', readonly [text: string, waitMs: number]>>;
}

const BEGIN = { rows: ['begin', DEADLINE_MS], table: ['begin', DEADLINE_MS] } as const;

/**
 * A table that a program manages, and that has to exist. It connects at the first use, and then finds out whether the
 * table can be used.
 */
export async function openProgramDatabase(
  url: string | (() => string),
  table: TableDefinition,
  { name, poolSize = 1, findTable, begin: beginnings = BEGIN }: ProgramDatabaseOptions,
) {
  const connection = await openConnection({ url, poolSize, deadlineMs: DEADLINE_MS });
  // A connection that breaks between two statements fails at the second.
  connection.pool.on('error', () => {});
  let prepared: Promise<void> | undefined;
  async function prepare(): Promise<void> {
    await findTable?.(connection);
    assertUsable(table, await readColumns(table, connection));
  }
  async function connect(): Promise<SqlConnection> {
    prepared ??= prepare().catch((fault: unknown) => {
      prepared = undefined;
      throw fault;
    });
    await prepared;
    const client = await connection.pool.connect();
    return {
      async query<Row>(statement: Compilable<Row>) {
        const { rows } = await client.query<Row & object>(statementOf(statement));
        return rows;
      },
      async begin(locks) {
        const [text, waitMs] = beginnings[locks];
        // pg accepts a time limit for one statement here, although its types do not declare it.
        const statement = { text, query_timeout: waitMs };
        await client.query(statement);
      },
      async end(how) {
        await client.query(how);
      },
      /** Who has authenticated, whatever role it has taken since. */
      async role() {
        const { rows } = await client.query<{ readonly role: string }>('select session_user::text as "role"');
        return rows[0]?.role;
      },
      release: (isBroken) => client.release(isBroken),
    };
  }
  const database: SqlDatabase = {
    db: connection.db,
    dialect: POSTGRES,
    connect,
    faultOf: (fault) =>
      fault instanceof DependencyUnavailable ? fault : new DependencyUnavailable(name, loggableFault(fault)),
    isMissing: (fault) => problemIn(Object(fault).cause)?.code === 'table_missing',
    close: () => connection.close(),
  };
  return { ...database, load: () => connection.load() };
}
