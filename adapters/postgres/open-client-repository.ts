import { followFigures } from '../../application/storage-figures.ts';
import { CLIENT_SECRETS, CLIENTS, FIND_CLIENTS } from './client-entity.ts';
import { acquireTimeoutMs, type ConnectionOptions } from './connection.ts';
import type { DatabaseLog } from './health.ts';
import { CLIENT_RESOURCES, PostgresClientRepository, postgresClientResources } from './postgres-client-repository.ts';
import { openTable, type TableDefinition } from './table.ts';

/** How long each table of secrets may be read, for which the deadline of a request is too short. */
const WHOLE_TABLE_MS = 60_000;

/** The look-up of an id that no client can have. */
const FIND_NO_CLIENT = { ...FIND_CLIENTS, values: [['']] };

/**
 * The repository, with one pool for all look-ups, what of it expires soon, and the costs of its secrets. Throws if a table
 * cannot be used. If the database cannot be reached, resolves and continues to try.
 *
 * @param more further tables that look-ups read; `runnerOf` has what runs their statements.
 */
export async function openClientRepository(
  options: ConnectionOptions,
  log: DatabaseLog,
  more: readonly TableDefinition[] = [],
) {
  const details = [CLIENT_SECRETS, CLIENT_RESOURCES, ...more];
  const table = await openTable('client repository', CLIENTS, options, log, FIND_NO_CLIENT, ...details);
  const { runner, runnerOf } = table;
  const adapter = new PostgresClientRepository(runner, runnerOf(CLIENT_SECRETS), log);
  // Requests wait for the only connection, and still find their answers in time.
  const costsMs = options.poolSize > 1 ? WHOLE_TABLE_MS : Math.ceil(acquireTimeoutMs(options.deadlineMs) / 4);
  const figures = followFigures(table, {
    countExpiring: () => adapter.countExpiring(),
    findCosts: () => adapter.findCosts(costsMs),
  });
  return {
    adapter,
    resources: postgresClientResources(runnerOf(CLIENT_RESOURCES)),
    runnerOf,
    ...figures,
  };
}
