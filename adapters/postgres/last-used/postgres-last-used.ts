import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../database-log.ts';
import { alwaysReady, openTable } from '../table.ts';
import { LAST_USED } from '../tables.ts';

/** One connection: it is used once in an hour. */
const POOL_SIZE = 1;

/** The table of the days on which clients were used. It is always ready: tokens do not need it. */
export async function openLastUsed(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const table = await openTable('last used', LAST_USED, { ...options, poolSize: POOL_SIZE }, log);
  return { tables: table.tables, dependency: alwaysReady(table, () => {}) };
}
