import { migrateDatabase } from '../../adapters/postgres/migrate-database.ts';
import type { TestDatabase } from './test-database.ts';

/** Empties the tables of details, creates them if they are missing, and drops the table of the clients. */
export async function freshTables({ query, url }: Pick<TestDatabase, 'query' | 'url'>): Promise<void> {
  await query('drop table if exists clients');
  await migrateDatabase(url);
  await query('truncate client_secrets, client_keys, client_subjects, client_resources');
}
