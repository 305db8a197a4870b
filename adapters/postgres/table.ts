import { NO_CLIENT } from '../../application/client-lookup.ts';
import type { Dependency } from '../../application/ports/health-check.ts';
import type { DatabaseName } from '../../application/ports/telemetry.ts';
import type { SqlTables } from '../sql/sql-database.ts';
import { type ConnectionOptions, openConnection } from './connection.ts';
import type { DatabaseLog } from './database-log.ts';
import { HIGHEST_ID } from './look-up-statements.ts';
import { POSTGRES } from './postgres-dialect.ts';
import { findRisks } from './role-risks.ts';
import { Runner, runStatement, type Statement } from './runner.ts';
import { TableHealth } from './table-health.ts';
import { probeTable } from './table-probe.ts';
import type { TableDefinition } from './tables.ts';

/** A table that is open: statements for requests, and its health. */
export interface OpenTable extends Dependency {
  readonly runner: Runner;
  /** The same, for statements that Kysely has built. */
  readonly tables: SqlTables;
  /** The highest `id` of a row when it was last probed; 0 of an empty table, and of one that has none. */
  readonly highestId: number;
  /** Whether it has the columns that it may lack. */
  readonly hasOptional: boolean;
}

/**
 * Connects with a separate pool, and creates the table if it is missing. If the database cannot be reached, it resolves
 * anyway and continues to try; until it succeeds, statements throw DependencyUnavailable. Throws TableUnusable if the
 * table exists but cannot be used, and then leaves nothing open.
 *
 * @param name what the table is for, in words for an operator.
 * @param read what probes read: the statement of requests, with values that no row matches.
 */
export async function openTable(
  name: DatabaseName,
  table: TableDefinition,
  options: ConnectionOptions,
  log: DatabaseLog,
  read?: (hasOptional: boolean) => Statement,
): Promise<OpenTable> {
  const connection = await openConnection(options);
  let highestId = 0;
  const note = async () => {
    const [row] = await runStatement<{ readonly highest: number | null }>(connection, { text: HIGHEST_ID });
    highestId = row?.highest ?? 0;
    return row?.highest == null ? NO_CLIENT : undefined;
  };
  const columns = { areThere: false };
  const probe =
    read === undefined
      ? probeTable(table, connection)
      : { ...probeTable(table, connection, columns, () => read(columns.areThere)), note };
  const health = new TableHealth(probe, log);
  // Of an idle connection, which the pool then drops. A request gets another one.
  connection.pool.on('error', () => {});
  const close = async () => {
    health.close();
    await connection.close();
  };
  try {
    await health.start();
    // Only a warning: a role that may not read the catalog of roles needs no more than its tables.
    const risks = health.fault === undefined ? findRisks(connection, table) : Promise.resolve([]);
    for (const line of await risks.catch(() => [])) log(line);
  } catch (problem) {
    await close();
    throw problem;
  }
  const times = options.measure?.(name, () => connection.load());
  const runner = new Runner({ connection, health, name, times });
  return {
    name,
    runner,
    tables: { db: connection.db, dialect: POSTGRES, query: (statement) => runner.query(statement) },
    get highestId() {
      return highestId;
    },
    get hasOptional() {
      return columns.areThere;
    },
    readiness: () => health.readiness(),
    close,
  };
}

/**
 * A table without which the service can do most of its work: a fault is a note.
 *
 * @param stop ends what uses it, before it is closed.
 */
export function alwaysReady({ name, readiness, close }: Dependency, stop: () => void): Dependency {
  return {
    name,
    readiness() {
      const state = readiness();
      return state.ready ? state : { ready: true, note: state.reason };
    },
    async close() {
      stop();
      await close();
    },
  };
}
