import { randomUUID } from 'node:crypto';
import { runAt } from '../../support/test-database.ts';
import { startTestDatabaseSource } from '../../support/test-database-source.ts';
import type { Registration } from './registrations.ts';

/** The PostgreSQL server of one run of the benchmark: a container's, or the one that npm brought. */
export interface BenchDatabaseServer {
  /** Which one it is, for people. */
  readonly name: string;
  create(): Promise<BenchDatabase>;
}

/** A database of its own, empty at first; the service that starts on it makes the table. */
export interface BenchDatabase {
  readonly url: string;
  insert(registrations: readonly Registration[]): Promise<void>;
  /** `client-1` to `client-COUNT`, all with the same stored secret, made by the server itself. */
  insertMany(count: number, storedSecret: string): Promise<void>;
}

const COLUMNS = 'client_id, client_secret, client_name, scope';

export async function startBenchDatabaseServer(opened: AsyncDisposableStack): Promise<BenchDatabaseServer> {
  const source = await startTestDatabaseSource();
  opened.defer(() => source.stop());
  return {
    name: source.name,
    async create() {
      const name = `bench_${randomUUID().replaceAll('-', '')}`;
      await runAt(source.url, `create database ${name}`);
      // A server that somebody else runs would keep it.
      opened.defer(async () => void (await runAt(source.url, `drop database ${name} with (force)`)));
      const url = new URL(source.url);
      url.pathname = `/${name}`;
      return benchDatabase(url.href);
    },
  };
}

function benchDatabase(url: string): BenchDatabase {
  const analyze = () => runAt(url, 'vacuum analyze clients');
  return {
    url,
    async insert(registrations) {
      const rows = `json_to_recordset($1) as row(client_id text, client_secret text, client_name text, scope text)`;
      await runAt(url, `insert into clients (${COLUMNS}) select ${COLUMNS} from ${rows}`, [
        JSON.stringify(registrations),
      ]);
      await analyze();
    },
    async insertMany(count, storedSecret) {
      const rows = `select 'client-' || n, $1, 'Client ' || n, 'read write' from generate_series(1, $2::int) n`;
      await runAt(url, `insert into clients (${COLUMNS}) ${rows}`, [storedSecret, count]);
      await analyze();
    },
  };
}
