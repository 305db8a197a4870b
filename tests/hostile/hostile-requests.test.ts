import { afterAll } from '@jest/globals';
import { CREATE_CLIENTS } from '../support/clients-table.ts';
import { GOOD_CLIENT } from '../support/running-service.ts';
import { createTestDatabase, PATIENT, type TestDatabase } from '../support/test-database.ts';
import { describeHostileRequests } from './describe-hostile.ts';
import { startHostileService, WRONGED_CLIENT } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';
import { STORED, type StoredRow } from './stored-rows.ts';

// tests/faults/slow-connections.fault.ts has the requests that take 15 s.

const INSERT = `insert into clients (client_id, client_secret, client_name, scope)
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])`;

let database: TestDatabase;
afterAll(() => database.drop());

async function startWithTable() {
  database = await createTestDatabase();
  await database.query(CREATE_CLIENTS);
  const rows: readonly StoredRow[] = [GOOD_CLIENT, WRONGED_CLIENT, ...STORED.map(({ row }) => row)];
  const complete = rows.map((row) => ({ ...GOOD_CLIENT, ...row }));
  const columns = (['client_id', 'client_secret', 'client_name', 'scope'] as const).map((column) =>
    complete.map((row) => row[column]),
  );
  await database.query(INSERT, columns);
  return startHostileService({ settings: { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...PATIENT } });
}

describeHostileRequests('hostile requests with PostgreSQL', startWithTable, {
  ...HOSTILE_REQUESTS,
  'stored rows': STORED.map(({ request }) => request),
});
