import { PeriodicTask } from '../../application/periodic-task.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { HealthCheck, Readiness } from '../../application/ports/health-check.ts';
import type { AuthenticationMethod } from '../../domain/authentication-method.ts';
import type { ExpiringCredentials } from '../../domain/client-details.ts';
import { CLIENT_SECRETS, CLIENTS, FIND_CLIENT } from './client-entity.ts';
import { CLIENT_KEYS } from './client-key-table.ts';
import type { ConnectionOptions } from './connection.ts';
import type { DatabaseLog } from './health.ts';
import { SIGNING_KEY_STATES, SIGNING_KEYS } from './key-tables.ts';
import { PostgresClientKeys } from './postgres-client-keys.ts';
import { PostgresClientRepository } from './postgres-client-repository.ts';
import { CLIENT_RESOURCES, PostgresClientResources } from './postgres-client-resources.ts';
import { PostgresFederatedClients } from './postgres-federated-clients.ts';
import { PostgresKeyDirectory } from './postgres-key-directory.ts';
import { PostgresUsedAssertions } from './postgres-used-assertions.ts';
import { ReplicaRegister } from './replica-register.ts';
import { readCosts } from './stored-costs.ts';
import { CLIENT_SUBJECTS } from './subject-table.ts';
import { openTable } from './table.ts';
import { USED_ASSERTIONS } from './used-assertion-table.ts';

/** One connection to publish, and one to look up an unknown key. They are not shared with client look-ups, so neither waits for those. */
const KEYS_POOL_SIZE = 2;

/** Each worker sends one batch of uses at a time. */
const USES_POOL_SIZE = 4;

/** Between two counts of what expires within 30 days, which changes slowly: nobody who reads the metrics waits for the database. */
const EXPIRING_COUNTED_EVERY_MS = 60_000;

/** The look-up of an id that no client can have. */
const FIND_NO_CLIENT = { ...FIND_CLIENT, values: [''] };

/**
 * The repository, the tables that it uses with these authentication methods, with one pool for all look-ups, what of it
 * expires soon, and the costs of its secrets. Throws if a table cannot be used. If the database cannot be reached, resolves
 * and continues to try.
 */
export async function openClientRepository(
  options: ConnectionOptions,
  log: DatabaseLog,
  methods: readonly AuthenticationMethod[] = [],
) {
  const keys = methods.includes('private_key_jwt') ? [CLIENT_KEYS] : [];
  const subjects = methods.includes('federated_jwt') ? [CLIENT_SUBJECTS] : [];
  const details = [CLIENT_SECRETS, CLIENT_RESOURCES, ...keys, ...subjects];
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
  const close = () => {
    for (const task of tasks) task.close();
    return table.close();
  };
  return {
    adapter,
    resources: new PostgresClientResources(runnerOf(CLIENT_RESOURCES)),
    clientKeys: new PostgresClientKeys(runnerOf(CLIENT_KEYS), log),
    federatedClients: new PostgresFederatedClients(runnerOf(CLIENT_SUBJECTS), log),
    /** The last count, without what could not be counted: a count that failed, or a table that is missing. */
    expiring: () => expiring,
    /** Resolves after the first attempt to read the BCrypt costs of stored secrets. */
    readCosts(onFound: (costs: readonly number[]) => void): Promise<void> {
      const reading = readCosts(() => adapter.findCosts(), onFound);
      tasks.push(reading);
      return reading.start();
    },
    dependency: { ...table, close },
  };
}

/**
 * The directory, and the tables that it uses; otherwise as above. The directory is always ready: without it the service
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

/**
 * The store of used assertions; otherwise as above. It is always ready too: without it, other authentication methods work.
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

function alwaysReady({ readiness }: HealthCheck): () => Readiness {
  return () => {
    const state = readiness();
    return state.ready ? state : { ready: true, note: state.reason };
  };
}
