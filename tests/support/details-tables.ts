import { CREATE_CLIENTS } from './clients-table.ts';
import type { TestDatabase } from './test-database.ts';

/** Makes a new table of clients. */
export async function freshTables({ query }: Pick<TestDatabase, 'query'>): Promise<void> {
  await query(`drop table if exists clients; ${CREATE_CLIENTS}`);
}
