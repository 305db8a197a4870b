import { join } from 'node:path';
import bcrypt from 'bcrypt';
import { clientsTable } from './clients-table.ts';
import { DEMO_TOKEN_REQUEST } from './replica.ts';
import type { TestDatabase } from './test-database.ts';

/** Settings with which a service keeps its keys in the database of the registrations. */
export const SEALED_KEYS = {
  KEY_DIRECTORY: 'database',
  KEY_SECRET_FILE: join(import.meta.dirname, 'key-secret.txt'),
} as const;

/** The settings of replicas that share this database: the keys, sealed, and the client of config/demo. */
export async function sealedKeysIn(database: Pick<TestDatabase, 'query' | 'url'>): Promise<Record<string, string>> {
  await storeDemoClient(database);
  return { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...SEALED_KEYS };
}

/** The client of config/demo in the table `clients`, which is created if it is missing. */
export async function storeDemoClient({ query }: Pick<TestDatabase, 'query'>): Promise<void> {
  await query(`create table if not exists clients (id bigint generated always as identity primary key,
    client_id text unique not null, client_secret text not null, client_name text not null, scope text not null)`);
  const { client_id: clientId, client_secret: secret } = DEMO_TOKEN_REQUEST;
  await clientsTable({ query }).remove(clientId);
  const clientSecret = await bcrypt.hash(secret, 4);
  await clientsTable({ query }).add({ clientId, clientSecret, clientName: 'Demo', scope: 'read' });
}
