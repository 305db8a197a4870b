import type { Clock } from '../../../application/ports/clock.ts';
import type { ConnectionOptions } from '../connection.ts';
import type { DatabaseLog } from '../health.ts';
import { alwaysReady, openTable } from '../table.ts';
import { PostgresUsedAssertions } from './postgres-used-assertions.ts';
import { USED_ASSERTIONS } from './used-assertion-table.ts';

/** Each worker sends one batch of uses at a time. */
export const USES_POOL_SIZE = 4;

/**
 * The store of used assertions; otherwise as `openClientRepository`. It is always ready: without it, other authentication methods work.
 */
export async function openUsedAssertions(options: Omit<ConnectionOptions, 'poolSize'>, clock: Clock, log: DatabaseLog) {
  const table = await openTable('used assertions', USED_ASSERTIONS, { ...options, poolSize: USES_POOL_SIZE }, log);
  const adapter = new PostgresUsedAssertions(table.runner, clock);
  adapter.start();
  const close = () => {
    adapter.close();
    return table.close();
  };
  return { adapter, dependency: { ...table, readiness: alwaysReady(table), close } };
}
