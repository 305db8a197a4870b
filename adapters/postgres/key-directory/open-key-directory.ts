import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../health.ts';
import { alwaysReady, openTable } from '../table.ts';
import { SIGNING_KEY_STATES, SIGNING_KEYS } from './key-tables.ts';
import { PostgresKeyDirectory } from './postgres-key-directory.ts';
import { ReplicaRegister } from './replica-register.ts';

/** One connection to publish, and one to look up an unknown key. They are not shared with client look-ups, so neither waits for those. */
export const KEYS_POOL_SIZE = 2;

/**
 * The directory, and the tables that it uses; otherwise as `openClientRepository`. The directory is always ready: without it the service
 * works as long as its own key may sign, and the check of that key reports when it may not.
 */
export async function openKeyDirectory(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const keysOptions = { ...options, poolSize: KEYS_POOL_SIZE };
  const table = await openTable('key directory', SIGNING_KEYS, keysOptions, log, undefined, SIGNING_KEY_STATES);
  const replicas = new ReplicaRegister(table.runner);
  const close = () => {
    replicas.close();
    return table.close();
  };
  return {
    adapter: new PostgresKeyDirectory(table.runner),
    replicas,
    dependency: { ...table, readiness: alwaysReady(table), close },
  };
}
