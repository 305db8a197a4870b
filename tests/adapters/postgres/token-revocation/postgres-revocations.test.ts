import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openRevocations } from '../../../../adapters/postgres/token-revocation/postgres-revocations.ts';
import { SqlRevocations } from '../../../../adapters/sql/token-revocation/sql-revocations.ts';
import { describeRevocations } from '../../../contracts/revocations.ts';
import { CREATE_CLIENTS } from '../../../support/clients-table.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.query(CREATE_CLIENTS);
}, 120_000);
afterAll(() => database.drop());

const open = (url = database.url) => openRevocations({ url, deadlineMs: 3_000 }, () => {});

describeRevocations('SqlRevocations on PostgreSQL', async (limits) => {
  const [one, two] = [await open(), await open()];
  await database.query('delete from revocations');
  return {
    revocations: new SqlRevocations(one.tables, limits),
    other: new SqlRevocations(two.tables, limits),
    now: () => Date.now() / 1_000,
    close: async () => {
      for (const { dependency } of [one, two]) await dependency.close();
    },
  };
});

it('a database that can only be read is refused: a standby receives a revocation later', async () => {
  const { dependency } = await open();
  await dependency.close();
  const role = await database.createRole();
  await database.query(`grant select, insert, update, delete on revocations to ${role.name};
    alter role ${role.name} set default_transaction_read_only = on`);
  await expect(open(role.url)).rejects.toThrow('TOKEN_REVOCATION needs a database that can be written');
});
