import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import type { TestDatabase } from './test-database.ts';

const FRESH = 'drop table if exists clients; truncate client_secrets, client_keys, client_subjects, client_resources';

/** PostgreSQL's code for a table that does not exist. */
const UNDEFINED_TABLE = '42P01';

/** Empties the tables of details, creates them if they are missing, and drops the table of the clients. */
export async function freshTables({ query, url }: Pick<TestDatabase, 'query' | 'url'>): Promise<void> {
  try {
    await query(FRESH);
  } catch (fault) {
    if ((fault as { code?: unknown }).code !== UNDEFINED_TABLE) throw fault;
    await migrateDatabase(url);
    await query(FRESH);
  }
}
