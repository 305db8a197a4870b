import type { Readiness } from '../../application/ports/health-check.ts';
import { CLIENTS, FIND_CLIENT } from './client-entity.ts';
import type { ConnectionOptions } from './connection.ts';
import { ExpiringCount } from './expiring-count.ts';
import type { DatabaseLog } from './health.ts';
import { SIGNING_KEY_STATES, SIGNING_KEYS } from './key-tables.ts';
import { PostgresClientRepository } from './postgres-client-repository.ts';
import { PostgresClientResources } from './postgres-client-resources.ts';
import { PostgresKeyDirectory } from './postgres-key-directory.ts';
import { openTable } from './table.ts';

/** One connection to publish, and one to look up an unknown key. They are not shared with client look-ups, so neither waits for those. */
const KEYS_POOL_SIZE = 2;

/** The look-up of an id that no client can have. */
const FIND_NO_CLIENT = { ...FIND_CLIENT, values: [''] };

/**
 * The repository, the table that it uses, and what of it expires soon. Throws if the table cannot be used. If the database cannot be reached,
 * resolves and continues to try.
 */
export async function openClientRepository(options: ConnectionOptions, log: DatabaseLog) {
  const table = await openTable('client repository', CLIENTS, options, log, FIND_NO_CLIENT);
  const resources = new PostgresClientResources(table.runner, log);
  const adapter = new PostgresClientRepository(table.runner, log);
  const expiring = new ExpiringCount(() => adapter.countExpiring());
  void expiring.start();
  const close = () => {
    expiring.close();
    return table.close();
  };
  return { adapter, resources, expiring, dependency: { ...table, close } };
}

/**
 * The directory, and the tables that it uses; otherwise as above. The directory is always ready: without it the service
 * works as long as its own key may sign, and the check of that key reports when it may not.
 */
export async function openKeyDirectory(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const keysOptions = { ...options, poolSize: KEYS_POOL_SIZE };
  const table = await openTable('key directory', SIGNING_KEYS, keysOptions, log, undefined, SIGNING_KEY_STATES);
  const readiness = (): Readiness => {
    const state = table.readiness();
    return state.ready ? state : { ready: true, note: state.reason };
  };
  return { adapter: new PostgresKeyDirectory(table.runner), dependency: { ...table, readiness } };
}
