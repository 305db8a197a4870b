import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { InMemoryFederatedClients } from '../adapters/memory/federated-jwt/in-memory-federated-clients.ts';
import { InMemoryClientRepository } from '../adapters/memory/in-memory-client-repository.ts';
import { inMemoryClientResources } from '../adapters/memory/in-memory-client-resources.ts';
import { inMemoryClientKeys } from '../adapters/memory/private-key-jwt/in-memory-client-keys.ts';
import type { ConnectionOptions } from '../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../adapters/postgres/health.ts';
import type { TableDefinition } from '../adapters/postgres/table.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { readTextFileNow } from '../adapters/system/read-text-file.ts';
import { NO_CLIENT } from '../application/client-lookup.ts';
import type { ClientKeys } from '../application/ports/client-keys.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { ClientResources } from '../application/ports/client-resources.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { FederatedClients } from '../application/ports/federated-clients.ts';
import type { Dependency } from '../application/ports/health-check.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import { countExpiring, type ExpiringCredentials } from '../domain/client-details.ts';
import type { Configuration } from './settings/configuration.ts';
import { followDatabaseUrl } from './settings/database-url.ts';
import type { Settings, StorageName } from './settings/settings.ts';

/** How this service connects to the database, whatever for. */
export type DatabaseOptions = Omit<ConnectionOptions, 'poolSize'>;

/** Without a URL if the settings name no database. What opens one requires DATABASE_URL (`config/settings/settings.ts`). */
export function databaseOptions(settings: Settings, log: Logger, metrics: ProcessMetrics): DatabaseOptions {
  const { DATABASE_URL, DATABASE_URL_FILE: path, DATABASE_DEADLINE_MS: deadlineMs } = settings;
  const url = DATABASE_URL?.reveal() ?? '';
  const onProblem = (problem: string) => log.warn({ event: 'database_url_file_unusable', problem });
  return {
    url: path === undefined ? url : followDatabaseUrl(path, url, readTextFileNow, onProblem),
    deadlineMs,
    measure: (use, pool) => metrics.measureDatabase(use, pool),
  };
}

/** An open storage with all of its ports. */
export type Storage = OpenedStorage & ClientPorts;

/** What a storage needs to be opened. */
interface StorageNeeds {
  readonly configuration: Configuration;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly log: DatabaseLog;
  readonly database: DatabaseOptions;
}

/** What else look-ups read of a client. */
interface ClientPorts {
  readonly resources: ClientResources;
  readonly keys: ClientKeys;
  readonly subjects: FederatedClients;
}

/** The ports of a storage. What is absent has a default: no resources, nothing expires, CLIENT_SECRET_COST for refusals, nothing to close. */
interface OpenedStorage extends Partial<ClientPorts> {
  readonly clients: ClientRepository;
  /** The latest counts, without what is not known. */
  readonly expiring?: () => Partial<ExpiringCredentials>;
  /** Calls back with the BCrypt costs of stored secrets, when they are read. Resolves after the first attempt. */
  readonly readCosts?: (onFound: (costs: readonly number[]) => void) => Promise<void>;
  /** Whether secrets may be stored as `{noop}` and plain text. */
  readonly hasPlainSecrets?: boolean;
  readonly dependency?: Dependency;
}

/** Opens a storage. Rejects if it cannot be used at all. */
type OpenStorage = (needs: StorageNeeds) => Promise<OpenedStorage>;

/** Opens what CLIENT_REPOSITORY names, with all of its ports. Rejects if it cannot be used at all. */
export async function openStorage(needs: StorageNeeds): Promise<Storage> {
  const { settings, clients: registered } = needs.configuration;
  const opened = await STORAGES[settings.CLIENT_REPOSITORY](needs);
  return {
    resources: NO_RESOURCES,
    keys: inMemoryClientKeys(opened.clients, registered),
    subjects: new InMemoryFederatedClients(opened.clients, registered),
    ...opened,
  };
}

const STORAGES: Readonly<Record<StorageName, OpenStorage>> = {
  async memory({ configuration: { clients }, clock, ids }) {
    const details = clients.flatMap((client) => client.details ?? []);
    return {
      clients: new InMemoryClientRepository(ids, clock, clients),
      resources: inMemoryClientResources(clients),
      hasPlainSecrets: true,
      ...(clients.length === 0 && { dependency: { name: 'clients file', readiness: () => EMPTY, close } }),
      expiring: () => countExpiring(details, clock.now()),
    };
  },

  async sqlite({ configuration: { settings }, log, database }) {
    const { openClientRepository } = await import('../adapters/sqlite/sqlite-client-repository.ts');
    const { sqliteClientKeys } = await import('../adapters/sqlite/private-key-jwt/sqlite-client-keys.ts');
    const { sqliteFederatedClients } = await import('../adapters/sqlite/federated-jwt/sqlite-federated-clients.ts');
    const times = database.measure?.('client repository', ONE_CONNECTION);
    const { file, ...opened } = await openClientRepository(resolve(settings.DATABASE_FILE ?? ''), log, times);
    return { ...opened, keys: sqliteClientKeys(file, log), subjects: sqliteFederatedClients(file, log) };
  },

  async postgres({ configuration: { settings }, log, database }) {
    const { openClientRepository } = await import('../adapters/postgres/postgres-client-repository.ts');
    const { CLIENT_KEYS, postgresClientKeys } = await loadClientKeys();
    const { CLIENT_SUBJECTS, postgresFederatedClients } = await loadFederatedClients();
    const options = { ...database, poolSize: settings.DATABASE_POOL_SIZE };
    const { clientDetails } = await databaseTables(settings);
    const { adapter, runnerOf, ...opened } = await openClientRepository(options, log, clientDetails);
    return {
      ...opened,
      clients: adapter,
      ...(clientDetails.includes(CLIENT_KEYS) && { keys: postgresClientKeys(runnerOf(CLIENT_KEYS), log) }),
      ...(clientDetails.includes(CLIENT_SUBJECTS) && {
        subjects: postgresFederatedClients(runnerOf(CLIENT_SUBJECTS), log),
      }),
    };
  },
};

/** The tables that the service uses in PostgreSQL with these settings, beside those of the core. */
export async function databaseTables(settings: Settings) {
  const { CLIENT_REPOSITORY: repository, CLIENT_AUTHENTICATION_METHODS: methods, KEY_DIRECTORY: directory } = settings;
  const clientDetails: TableDefinition[] = [];
  /** Those that have a pool of their own. */
  const others: TableDefinition[] = [];
  let connections = 0;
  if (repository === 'postgres' && methods.includes('private_key_jwt')) {
    const { USED_ASSERTIONS } = await import('../adapters/postgres/private-key-jwt/used-assertion-table.ts');
    const { USES_POOL_SIZE } = await import('../adapters/postgres/private-key-jwt/postgres-used-assertions.ts');
    clientDetails.push((await loadClientKeys()).CLIENT_KEYS);
    others.push(USED_ASSERTIONS);
    connections += USES_POOL_SIZE;
  }
  if (repository === 'postgres' && methods.includes('federated_jwt')) {
    clientDetails.push((await loadFederatedClients()).CLIENT_SUBJECTS);
  }
  if (repository === 'postgres' && directory === 'database') {
    const { KEYS_POOL_SIZE } = await import('../adapters/postgres/key-directory/postgres-key-ring.ts');
    others.push((await import('../adapters/postgres/key-directory/key-ring-table.ts')).KEY_RING);
    connections += KEYS_POOL_SIZE;
  }
  return { clientDetails, others, connections };
}

/** The ORM is loaded only where it is used, as is `node:sqlite`, which older Node.js does not have. */
function loadClientKeys() {
  return import('../adapters/postgres/private-key-jwt/postgres-client-keys.ts');
}

function loadFederatedClients() {
  return import('../adapters/postgres/federated-jwt/postgres-federated-clients.ts');
}

const EMPTY = {
  ready: true,
  note: { ...NO_CLIENT, fix: 'add one to CLIENTS_FILE, as config/demo/clients.json shows' },
} as const;
const close = async () => {};

/** The file is read by one connection, and one statement at a time. */
const ONE_CONNECTION = () => ({ open: 1, max: 1, idle: 1, waiting: 0 });

/** The resources of a storage that has none. */
const NO_RESOURCES: ClientResources = { findResources: async () => [] };
