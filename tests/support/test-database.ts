import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { BROKER_VARIABLE } from './test-database-broker.ts';

/** An empty database of its own on the run's server. */
export interface TestDatabase {
  readonly url: string;
  /** The URL of a new role that may connect and do nothing else yet. */
  createRole(): Promise<{ readonly name: string; readonly url: string }>;
  /** Runs one statement as the database's owner, on a connection of its own. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** What `create database` takes behind the name, such as an encoding. */
  readonly options?: string;
}

/** Makes an empty database on the server that this run of the tests has, which is started now if nobody needed it before. */
export async function createTestDatabase({ options = '' }: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const serverUrl = await askBroker();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runAt(serverUrl, `create database ${name} ${options}`);
  const url = withDatabase(serverUrl, name);
  const roles: string[] = [];
  return {
    url,
    query: (text, values) => runAt(url, text, values),
    async createRole() {
      const role = `role_${randomUUID().replaceAll('-', '')}`;
      await runAt(url, `create role ${role} login password 'pw'`);
      roles.push(role);
      const own = new URL(url);
      own.username = role;
      own.password = 'pw';
      return { name: role, url: own.href };
    },
    async drop() {
      await runAt(serverUrl, `drop database ${name} with (force)`);
      for (const role of roles) await runAt(serverUrl, `drop role ${role}`);
    },
  };
}

/** One statement on a connection of its own. */
export async function runAt(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // A server that is being killed under test says so on this connection too.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

async function askBroker(): Promise<string> {
  const broker = process.env[BROKER_VARIABLE];
  if (broker === undefined) throw new Error('the tests run without their global setup');
  const answer = await fetch(broker);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`no test database: ${text}`);
  return text;
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
