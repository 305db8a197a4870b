import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { InMemoryClientRepository } from '../adapters/memory/in-memory-client-repository.ts';
import { inMemoryClientResources } from '../adapters/memory/in-memory-client-resources.ts';
import type { ConnectionOptions } from '../adapters/postgres/connection.ts';
import type { DatabaseLog } from '../adapters/postgres/health.ts';
import type { Runner } from '../adapters/postgres/runner.ts';
import type { TableDefinition } from '../adapters/postgres/table.ts';
import type { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import type { FileReader } from '../adapters/sqlite/file-reader.ts';
import { readTextFileNow } from '../adapters/system/read-text-file.ts';
import { NO_CLIENT } from '../application/client-lookup.ts';
import type { ClientRepository } from '../application/ports/client-repository.ts';
import type { ClientResources } from '../application/ports/client-resources.ts';
import type { Clock } from '../application/ports/clock.ts';
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

/** What a storage needs to be opened. */
interface StorageNeeds {
  readonly configuration: Configuration;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly log: DatabaseLog;
  readonly database: DatabaseOptions;
  /** The tables that capabilities read beside those of the core. */
  readonly tables: readonly TableDefinition[];
}

/** The ports of a storage. What is absent has a default: no resources, nothing expires, CLIENT_SECRET_COST for refusals, nothing to close. */
export interface OpenedStorage {
  readonly clients: ClientRepository;
  readonly resources?: ClientResources;
  /** The latest counts, without what is not known. */
  readonly expiring?: () => Partial<ExpiringCredentials>;
  /** Calls back with the BCrypt costs of stored secrets, when they are read. Resolves after the first attempt. */
  readonly readCosts?: (onFound: (costs: readonly number[]) => void) => Promise<void>;
  /** Whether secrets may be stored as `{noop}` and plain text. */
  readonly hasPlainSecrets?: boolean;
  readonly dependency?: Dependency;
  /** The file that SQLite reads. Only SQLite has it. */
  readonly file?: FileReader;
  /** Runs statements on one of the tables. Only PostgreSQL has it. */
  readonly runnerOf?: (table: TableDefinition) => Runner;
}

/** Opens a storage. Rejects if it cannot be used at all. */
type OpenStorage = (needs: StorageNeeds) => Promise<OpenedStorage>;

/** What a storage of this kind always has. */
export function required<Member>(member: Member | undefined): Member {
  if (member === undefined) throw new Error('this storage does not have what a capability needs of it');
  return member;
}

/** How each value of CLIENT_REPOSITORY is opened. */
export const STORAGES: Readonly<Record<StorageName, OpenStorage>> = {
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
    return openClientRepository(
      resolve(settings.DATABASE_FILE ?? ''),
      log,
      database.measure?.('client repository', ONE_CONNECTION),
    );
  },

  async postgres({ configuration: { settings }, log, database, tables }) {
    const { openClientRepository } = await import('../adapters/postgres/postgres-client-repository.ts');
    const options = { ...database, poolSize: settings.DATABASE_POOL_SIZE };
    const { adapter, ...opened } = await openClientRepository(options, log, tables);
    return { ...opened, clients: adapter };
  },
};

const EMPTY = {
  ready: true,
  note: { ...NO_CLIENT, fix: 'add one to CLIENTS_FILE, as config/demo/clients.json shows' },
} as const;
const close = async () => {};

/** The file is read by one connection, and one statement at a time. */
const ONE_CONNECTION = () => ({ open: 1, max: 1, idle: 1, waiting: 0 });

/** The resources of a storage that has none. */
export const NO_RESOURCES: ClientResources = { findResources: async () => [] };
