import { setTimeout } from 'node:timers/promises';
import { PeriodicTask } from '../../application/periodic-task.ts';
import type { ExpiringCredentials } from '../../domain/client-details.ts';
import { CLIENT_SECRETS, CLIENTS, FIND_CLIENTS } from './client-entity.ts';
import { acquireTimeoutMs, type ConnectionOptions } from './connection.ts';
import type { DatabaseLog } from './health.ts';
import { PostgresClientRepository } from './postgres-client-repository.ts';
import { CLIENT_RESOURCES, PostgresClientResources } from './postgres-client-resources.ts';
import { readCosts } from './stored-costs.ts';
import { openTable, type TableDefinition } from './table.ts';

/** Between two counts of what expires within 30 days, which changes slowly: nobody who reads the metrics waits for the database. */
const EXPIRING_COUNTED_EVERY_MS = 60_000;

/** How long a start waits for the costs of stored secrets. With millions of rows they are known later. */
const COSTS_AWAITED_MS = 500;

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
  let expiring: Partial<ExpiringCredentials> = {};
  const counting = new PeriodicTask(async () => {
    expiring = await adapter.countExpiring();
    return EXPIRING_COUNTED_EVERY_MS;
  });
  void counting.start();
  const tasks = [counting];
  // Requests wait for the only connection, and still find their answers in time.
  const costsMs = options.poolSize > 1 ? WHOLE_TABLE_MS : Math.ceil(acquireTimeoutMs(options.deadlineMs) / 4);
  const close = () => {
    for (const task of tasks) task.close();
    return table.close();
  };
  const resources = new PostgresClientResources(runnerOf(CLIENT_RESOURCES));
  return {
    adapter,
    resources,
    runnerOf,
    /** The last count, without what could not be counted: a count that failed, or a table that is missing. */
    expiring: () => expiring,
    /** Resolves after the first attempt to read the BCrypt costs of stored secrets, and after COSTS_AWAITED_MS at the latest. */
    async readCosts(onFound: (costs: readonly number[]) => void): Promise<void> {
      const reading = readCosts(() => adapter.findCosts(costsMs), onFound);
      tasks.push(reading);
      const waited = new AbortController();
      await Promise.race([reading.start(), setTimeout(COSTS_AWAITED_MS, undefined, waited)]);
      waited.abort();
    },
    dependency: { ...table, close },
  };
}
