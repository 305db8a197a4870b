import { afterAll, beforeAll } from '@jest/globals';
import { openLastUsed } from '../../../../adapters/postgres/last-used/postgres-last-used.ts';
import { SqlLastUsed } from '../../../../adapters/sql/last-used/sql-last-used.ts';
import { describeLastUsed } from '../../../contracts/last-used.ts';
import { CREATE_CLIENTS } from '../../../support/clients-table.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.query(CREATE_CLIENTS);
}, 120_000);
afterAll(() => database.drop());

describeLastUsed('SqlLastUsed on PostgreSQL', async () => {
  const { dependency, tables } = await openLastUsed({ url: database.url, deadlineMs: 3_000 }, () => {});
  await database.query('delete from last_used');
  return { lastUsed: new SqlLastUsed(tables), close: () => dependency.close() };
});
