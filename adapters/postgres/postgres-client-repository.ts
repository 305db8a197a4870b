import { logBroken } from '../../application/client-lookup.ts';
import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import type { ClientResources } from '../../application/ports/client-resources.ts';
import { followFigures } from '../../application/storage-figures.ts';
import { DETAILS_MAX, EXPIRES_SOON_SECONDS, type ExpiringCredentials } from '../../domain/client-details.ts';
import { isClientId } from '../../domain/client-registration.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, type StoredSecret } from '../../domain/stored-secret.ts';
import {
  bounded,
  CLIENT_SECRETS,
  CLIENTS,
  type ClientRecord,
  countExpiring,
  FIND_CLIENT_BY_SECRET,
  FIND_CLIENTS,
  FIND_SECRET,
  FIND_SECRET_BY_ID,
  findCosts,
  lookupOf,
  type SecretRecord,
  secretOf,
} from './client-entity.ts';
import { acquireTimeoutMs, type ConnectionOptions } from './connection.ts';
import { SQLSTATE } from './fault.ts';
import type { DatabaseLog } from './health.ts';
import { LookUps } from './look-ups.ts';
import type { Runner } from './runner.ts';
import { migratedTable, openTable, type TableDefinition } from './table.ts';

/**
 * Registrations in the table `clients`, which another program manages: read at every look-up, never written and never
 * cached. The entity manager is not on this path; docs/decisions/0102 has the figures.
 */
export class PostgresClientRepository implements ClientRepository {
  readonly #clients: Runner;
  /** For statements that read the secrets with ids too. */
  readonly #secretsWithIds: Runner;
  readonly #log: DatabaseLog;
  readonly #lookUps: LookUps<ClientRecord>;

  constructor(clients: Runner, secretsWithIds: Runner, log: DatabaseLog) {
    this.#clients = clients;
    this.#lookUps = new LookUps(clients, FIND_CLIENTS);
    this.#secretsWithIds = secretsWithIds;
    this.#log = log;
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    // The driver would send half a surrogate pair as U+FFFD: such an id cannot be stored.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return { kind: 'unknown' };
    const bySecret = { ...FIND_CLIENT_BY_SECRET, values: [clientId, clientId, secretId ?? ''] };
    const records =
      secretId !== undefined && this.#secretsWithIds.isThere()
        ? await this.#secretsWithIds.run<ClientRecord>(bySecret, SQLSTATE.unstorableText)
        : await this.#lookUps.find(clientId);
    const lookup = lookupOf(records, clientId);
    logBroken(this.#log, clientId, lookup);
    return lookup;
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    // The driver would send half a surrogate pair as U+FFFD, which another client id may contain.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return undefined;
    const [runner, statement] =
      secretId !== undefined && this.#secretsWithIds.isThere()
        ? [this.#secretsWithIds, { ...FIND_SECRET_BY_ID, values: [clientId, clientId, secretId] }]
        : [this.#clients, { ...FIND_SECRET, values: [clientId, clientId] }];
    const [record] = await runner.run<SecretRecord>(statement, SQLSTATE.unstorableText);
    return secretOf(record);
  }

  /** The BCrypt costs that stored secrets have; undefined if it takes longer to read one of the tables. */
  async findCosts(milliseconds: number): Promise<readonly number[] | undefined> {
    const read = (runner: Runner, table: 'clients' | 'client_secrets') =>
      runner.tryRun<{ readonly cost: string }>(findCosts(table, milliseconds), milliseconds);
    const ofClients = await read(this.#clients, 'clients');
    const ofSecrets = await read(this.#secretsWithIds, 'client_secrets');
    if (ofClients === undefined || ofSecrets === undefined) return undefined;
    const costs = [...ofClients, ...ofSecrets].map(({ cost }) => Number(cost));
    return costs.filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }

  /** The credentials that expire soon, without those that could not be counted. */
  async countExpiring(): Promise<Partial<ExpiringCredentials>> {
    const [secrets, keys] = [await this.#count('client_secrets'), await this.#count('client_keys')];
    return { ...(secrets !== undefined && { secrets }), ...(keys !== undefined && { keys }) };
  }

  async #count(table: 'client_secrets' | 'client_keys'): Promise<number | undefined> {
    const statement = { ...countExpiring(table), values: [String(EXPIRES_SOON_SECONDS)] };
    const [row] = (await this.#secretsWithIds.tryRun<{ readonly count: number }>(statement)) ?? [];
    return row?.count;
  }
}

export const CLIENT_RESOURCES = migratedTable(
  'client_resources',
  'optional',
  ...['client_id', 'registration_id', 'resource'],
);

/** One round trip by the primary key. */
const FIND_RESOURCES = {
  name: 'find_resources',
  text: `select ${bounded('resource')} as resource from $schema.client_resources where client_id = $1 and registration_id = $2
    order by client_resources.resource limit ${DETAILS_MAX.resources}`,
} as const;

/** Resources in the table `client_resources`: read at every look-up, never written and never cached. */
export function postgresClientResources(runner: Runner): ClientResources {
  return {
    async findResources({ id, clientId }) {
      if (!runner.isThere()) return [];
      const records = await runner.run<{ readonly resource: string }>({ ...FIND_RESOURCES, values: [clientId, id] });
      return records.map(({ resource }) => resource);
    },
  };
}

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
