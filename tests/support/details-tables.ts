import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import { CREATE_CLIENTS } from './clients-table.ts';
import type { TestDatabase } from './test-database.ts';

const FRESH = `drop table if exists clients; truncate client_secrets, client_keys, client_subjects, client_resources;
  ${CREATE_CLIENTS}`;

/** PostgreSQL's code for a table that does not exist. */
const UNDEFINED_TABLE = '42P01';

/** Empties the tables of details, creates them if they are missing, and makes a new table of clients. */
export async function freshTables({ query, url }: Pick<TestDatabase, 'query' | 'url'>): Promise<void> {
  try {
    await query(FRESH);
  } catch (fault) {
    if ((fault as { code?: unknown }).code !== UNDEFINED_TABLE) throw fault;
    await migrateDatabase(url);
    await query(FRESH);
  }
}
