import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../database-log.ts';
import { LAST_USED } from '../last-used-table.ts';
import { alwaysReady, openTable } from '../table.ts';

/** One connection: it is used once in an hour. */
const POOL_SIZE = 1;

/** The table of the days on which clients were used. It is always ready: tokens do not need it. */
export async function openLastUsed(options: Omit<ConnectionOptions, 'poolSize'>, log: DatabaseLog) {
  const table = await openTable('last used', LAST_USED, { ...options, poolSize: POOL_SIZE }, log);
  const query = <Row>(text: string, values: readonly (string | null)[] = []) =>
    table.runner.run<Row>({ text, values: [...values] });
  return { query, dependency: alwaysReady(table, () => {}) };
}
