import { NO_CLIENT } from '../../application/client-lookup.ts';
import type { Dependency } from '../../application/ports/health-check.ts';
import type { DatabaseName } from '../../application/ports/telemetry.ts';
import { HIGHEST_ID } from './client-entity.ts';
import { type ConnectionOptions, openConnection } from './connection.ts';
import type { DatabaseLog } from './database-log.ts';
import { Runner, runStatement, type Statement } from './runner.ts';
import { findRoleRisks, findSchemaRisks } from './shared-schemas.ts';
import type { TableDefinition } from './table-definition.ts';
import { TableHealth } from './table-health.ts';
import { probeTable } from './table-probe.ts';

/** A table that is open: statements for requests, and its health. */
export interface OpenTable extends Dependency {
  readonly runner: Runner;
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
  const connection = await openConnection(options, table.schema);
  let highestId = 0;
  const note = async () => {
    const [row] = await runStatement<{ readonly highest: string | null }>(connection, { text: HIGHEST_ID });
    highestId = Number(row?.highest ?? 0);
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
    const finds = table.access === 'read' ? [findSchemaRisks, findRoleRisks] : [findSchemaRisks];
    for (const find of health.fault === undefined ? finds : []) {
      for (const line of await find(connection).catch(() => [])) log(line);
    }
  } catch (problem) {
    await close();
    throw problem;
  }
  const times = options.measure?.(name, () => connection.load());
  return {
    name,
    runner: new Runner({ connection, health, name, times }),
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
