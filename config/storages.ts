import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { InMemoryClientRepository } from '../adapters/memory/in-memory-client-repository.ts';
import type { ConnectionOptions } from '../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../adapters/postgres/health.ts';
import type { TableDefinition } from '../adapters/postgres/table.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { readTextFileNow } from '../adapters/system/read-text-file.ts';
import { type ClientRow, NO_CLIENT } from '../application/client-lookup.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { Dependency } from '../application/ports/health-check.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import { usesAssertions } from '../domain/authentication-method.ts';
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

/** What a storage needs to be opened. */
interface StorageNeeds {
  readonly configuration: Configuration;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly log: DatabaseLog;
  readonly database: DatabaseOptions;
}

/** The ports of a storage. What is absent has a default: CLIENT_SECRET_COST for refusals, nothing to close. */
export interface Storage {
  readonly clients: ClientRepository;
  /** Calls back with the BCrypt costs of stored secrets, when they are read. Resolves after the first attempt. */
  readonly readCosts?: (onFound: (costs: readonly number[]) => void) => Promise<void>;
  /** Whether secrets may be stored as `{noop}` and plain text. */
  readonly hasPlainSecrets?: boolean;
  /** The clients that the doctor looks at. Throws DependencyUnavailable. */
  readonly listRows?: () => Promise<readonly ClientRow[]>;
  readonly dependency?: Dependency;
}

/** Opens a storage. Rejects if it cannot be used at all. */
type OpenStorage = (needs: StorageNeeds) => Promise<Storage>;

/** Opens what CLIENT_REPOSITORY names. Rejects if it cannot be used at all. */
export function openStorage(needs: StorageNeeds): Promise<Storage> {
  return STORAGES[needs.configuration.settings.CLIENT_REPOSITORY](needs);
}

const STORAGES: Readonly<Record<StorageName, OpenStorage>> = {
  async memory({ configuration: { clients }, clock, ids }) {
    return {
      clients: new InMemoryClientRepository(ids, clock, clients),
      hasPlainSecrets: true,
      ...(clients.length === 0 && { dependency: { name: 'clients file', readiness: () => EMPTY, close } }),
    };
  },

  async sqlite({ configuration: { settings }, clock, log, database }) {
    const { openClientRepository } = await import('../adapters/sqlite/sqlite-client-repository.ts');
    return openClientRepository(
      resolve(settings.DATABASE_FILE ?? ''),
      log,
      clock,
      database.measure?.('client repository', ONE_CONNECTION),
    );
  },

  async postgres({ configuration: { settings }, clock, log, database }) {
    const { openClientRepository } = await import('../adapters/postgres/postgres-client-repository.ts');
    const options = { ...database, poolSize: settings.DATABASE_POOL_SIZE };
    const { adapter, ...opened } = await openClientRepository(
      options,
      log,
      clock,
      usesAssertions(settings.CLIENT_AUTHENTICATION_METHODS),
    );
    return { ...opened, clients: adapter };
  },
};

/** The tables that the service uses in PostgreSQL with these settings, beside the clients. They have pools of their own. */
export async function databaseTables(settings: Settings) {
  const { CLIENT_REPOSITORY: repository, CLIENT_AUTHENTICATION_METHODS: methods, KEY_DIRECTORY: directory } = settings;
  const others: TableDefinition[] = [];
  let connections = 0;
  if (repository === 'postgres' && methods.includes('private_key_jwt')) {
    const { USED_ASSERTIONS } = await import('../adapters/postgres/used-assertion-table.ts');
    const { USES_POOL_SIZE } = await import('../adapters/postgres/private-key-jwt/postgres-used-assertions.ts');
    others.push(USED_ASSERTIONS);
    connections += USES_POOL_SIZE;
  }
  if (repository === 'postgres' && directory === 'database') {
    const { KEYS_POOL_SIZE } = await import('../adapters/postgres/key-directory/postgres-key-ring.ts');
    others.push((await import('../adapters/postgres/key-directory/key-ring-table.ts')).KEY_RING);
    connections += KEYS_POOL_SIZE;
  }
  return { others, connections };
}

const EMPTY = {
  ready: true,
  note: { ...NO_CLIENT, fix: 'add one to CLIENTS_FILE, as config/demo/clients.json shows' },
} as const;
const close = async () => {};

/** The file is read by one connection, and one statement at a time. */
const ONE_CONNECTION = () => ({ open: 1, max: 1, idle: 1, waiting: 0 });
