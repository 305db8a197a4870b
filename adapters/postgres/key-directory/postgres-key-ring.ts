import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../database-log.ts';
import { alwaysReady, openTable } from '../table.ts';
import { KEY_RING } from '../tables.ts';

/**
 * One connection to write, and one to look up an unknown key. They are not shared with client look-ups, so neither
 * waits for those.
 */
const KEYS_POOL_SIZE = 2;

/** Of a statement: a key that was revoked while the database does not answer is dropped in time once it does. */
const DEADLINE_MS_MAX = 3_000;

/** Always ready: without it the service works while a key that it knows may sign, which the key ring reports. */
export async function openKeyRing(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const deadlineMs = Math.min(options.deadlineMs, DEADLINE_MS_MAX);
  const table = await openTable('key directory', KEY_RING, { ...options, deadlineMs, poolSize: KEYS_POOL_SIZE }, log);
  return { tables: table.tables, dependency: alwaysReady(table, () => {}) };
}
