import { CLIENT_SECRETS, CLIENTS, FIND_CLIENT } from './client-entity.ts';
import type { ConnectionOptions } from './connection.ts';
import { ExpiringCount } from './expiring-count.ts';
import type { DatabaseLog } from './health.ts';
import { PostgresClientRepository } from './postgres-client-repository.ts';
import { CLIENT_RESOURCES, PostgresClientResources } from './postgres-client-resources.ts';
import { StoredCosts } from './stored-costs.ts';
import { openTable, type TableDefinition } from './table.ts';

/** The look-up of an id that no client can have. */
const FIND_NO_CLIENT = { ...FIND_CLIENT, values: [''] };

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
  const expiring = new ExpiringCount(() => adapter.countExpiring());
  void expiring.start();
  const costs = new StoredCosts(() => adapter.findCosts());
  const close = () => {
    costs.close();
    expiring.close();
    return table.close();
  };
  const resources = new PostgresClientResources(runnerOf(CLIENT_RESOURCES));
  return { adapter, resources, runnerOf, expiring, costs, dependency: { ...table, close } };
}
