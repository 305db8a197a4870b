import { randomUUID } from 'node:crypto';
import { KeptConnection } from './kept-connection.ts';
import { runAt } from './run-at.ts';
import { BROKER_VARIABLE } from './test-database-broker.ts';

/** For services in tests that are not about the deadline of the database. A busy machine does not reach this one. */
export const PATIENT = { DATABASE_DEADLINE_MS: '30000' };

/** A new, empty database on the server of this test run. */
export interface TestDatabase {
  readonly url: string;
  /** A new role that may only connect. */
  createRole(): Promise<{ readonly name: string; readonly url: string }>;
  /** Runs one statement as the owner of the database. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

interface TestDatabaseOptions {
  /** Further clauses of `create database`, such as an encoding. */
  readonly options?: string;
}

/** Creates an empty database on the server of this test run, and starts that server at the first call. */
export async function createTestDatabase({ options = '' }: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const serverUrl = await askBroker();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runAt(serverUrl, `create database ${name} ${options}`);
  const url = withDatabase(serverUrl, name);
  const owner = new KeptConnection(url);
  const roles: string[] = [];
  return {
    url,
    query: (text, values) => owner.query(text, values),
    async createRole() {
      const role = `role_${randomUUID().replaceAll('-', '')}`;
      await owner.query(`create role ${role} login password 'pw'`);
      roles.push(role);
      const own = new URL(url);
      own.username = role;
      own.password = 'pw';
      return { name: role, url: own.href };
    },
    async drop() {
      await owner.close();
      await runAt(serverUrl, `drop database ${name} with (force)`);
      for (const role of roles) await runAt(serverUrl, `drop role ${role}`);
    },
  };
}

async function askBroker(): Promise<string> {
  const broker = process.env[BROKER_VARIABLE];
  if (broker === undefined) throw new Error('the tests run without their global setup');
  const response = await fetch(broker);
  const text = await response.text();
  if (!response.ok) throw new Error(`no test database: ${text}`);
  return text;
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
