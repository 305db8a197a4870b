import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { runAt } from '../../tests/support/run-at.ts';
import { startTestDatabaseSource } from '../../tests/support/test-database-source.ts';
import type { Registration } from './registrations.ts';

/** The PostgreSQL server of one run of the benchmark: in a container, or the one installed by npm. */
export interface BenchDatabaseServer {
  /** Which of the two it is, for the report. */
  readonly name: string;
  create(): Promise<BenchDatabase>;
}

/** What all services of a run may use together of a PostgreSQL server, whose default limit is 100 connections. */
const CONNECTIONS_MAX = 80;

const DEFAULT_POOL_SIZE = 10;

const COLUMNS = 'client_id, client_secret, client_name, scope';

/**
 * The settings of a service on a database. On machines with many cores, each of its processes gets a smaller connection
 * pool than the default.
 * @param services how many services run at the same time.
 */
export function postgresEnvironment(databaseUrl: string, services = 1): Readonly<Record<string, string>> {
  const poolSize = Math.max(1, Math.floor(CONNECTIONS_MAX / (services * availableParallelism())));
  return {
    CLIENT_REPOSITORY: 'postgres',
    DATABASE_URL: databaseUrl,
    ...(poolSize < DEFAULT_POOL_SIZE && { DATABASE_POOL_SIZE: String(poolSize) }),
  };
}

export async function startBenchDatabaseServer(opened: AsyncDisposableStack): Promise<BenchDatabaseServer> {
  const source = await startTestDatabaseSource();
  opened.defer(() => source.stop());
  return {
    name: source.name,
    async create() {
      const name = `bench_${randomUUID().replaceAll('-', '')}`;
      await runAt(source.url, `create database ${name}`);
      // The server may outlive the benchmark, and would keep the database.
      opened.defer(async () => void (await runAt(source.url, `drop database ${name} with (force)`)));
      const url = new URL(source.url);
      url.pathname = `/${name}`;
      return new BenchDatabase(url.href);
    },
  };
}

/** A new, empty database; the service that starts on it creates the table. */
export class BenchDatabase {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  insert(registrations: readonly Registration[]): Promise<void> {
    const rows = `json_to_recordset($1) as row(client_id text, client_secret text, client_name text, scope text)`;
    return this.#insert(`select ${COLUMNS} from ${rows}`, [JSON.stringify(registrations)]);
  }

  /** Inserts `client-1` to `client-COUNT`, all with the same stored secret, in one statement. */
  insertMany(count: number, storedSecret: string): Promise<void> {
    const rows = `select 'client-' || n, $1, 'Client ' || n, 'read write' from generate_series(1, $2::int) n`;
    return this.#insert(rows, [storedSecret, count]);
  }

  /** How many connections are open to it. */
  async connections(): Promise<number> {
    const others = 'datname = current_database() and pid <> pg_backend_pid()';
    const [row] = await runAt(this.url, `select count(*)::int as open from pg_stat_activity where ${others}`);
    return Number(row?.['open']);
  }

  async #insert(rows: string, values: readonly unknown[]): Promise<void> {
    await runAt(this.url, `insert into clients (${COLUMNS}) ${rows}`, values);
    await runAt(this.url, 'vacuum analyze clients');
  }
}
