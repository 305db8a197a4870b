import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PostgresClientStore } from '../../../adapters/postgres/postgres-client-store.ts';
import { lock, replaceSecret } from '../../../domain/stored-secret.ts';
import { A_CLIENT } from '../../contracts/client-repository.ts';
import { describeClientStore } from '../../contracts/client-store.ts';
import { clientsTable } from '../../support/clients-table.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
}, 120_000);
afterAll(() => database.drop());

describeClientStore('PostgresClientStore', async () => {
  await database.query('drop table if exists clients');
  const stores: PostgresClientStore[] = [];
  const another = async () => {
    const store = await PostgresClientStore.open(database.url);
    stores.push(store);
    return store;
  };
  return {
    store: await another(),
    another,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
    },
  };
});

describe('PostgresClientStore', () => {
  it('changes every row of an id that a table without a unique index has twice, each by its own lock', async () => {
    await database.query('drop table if exists clients');
    await database.query(
      'create table clients (id bigint, client_id text, client_secret text, client_name text, scope text)',
    );
    const { add } = clientsTable(database);
    await add(A_CLIENT);
    await add({ ...A_CLIENT, clientSecret: lock(A_CLIENT.clientSecret), clientName: 'Its double' });
    await using store = await open();
    await store.changeSecret('client-1', (stored) => replaceSecret(stored, '$2b$new'));
    expect((await secrets()).toSorted()).toEqual(['!$2b$new', '$2b$new']);
    await store.save([{ ...A_CLIENT, clientSecret: '$2b$newer' }], replaceSecret);
    expect((await secrets()).toSorted()).toEqual(['!$2b$newer', '$2b$newer']);
  });

  it('loses no change if the database isolates transactions more strictly by default', async () => {
    await database.query('drop table if exists clients');
    await using owner = await open();
    await owner.save([{ ...A_CLIENT, clientSecret: '' }]);
    const role = await database.createRole();
    await database.query(`grant select, insert, update, delete on clients to ${role.name}`);
    await database.query(`alter role ${role.name} set default_transaction_isolation = 'serializable'`);
    await using one = await open(role.url);
    await using two = await open(role.url);
    await Promise.all([one.find('client-1'), two.find('client-1')]);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([one, two].map((store) => store.changeSecret('client-1', (stored) => `${stored}x`)));
    }
    expect(await secrets()).toEqual(['x'.repeat(20)]);
    await database.query(`revoke all on clients from ${role.name}`);
  });
});

async function open(url = database.url): Promise<PostgresClientStore & AsyncDisposable> {
  const store = await PostgresClientStore.open(url);
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

async function secrets(): Promise<readonly unknown[]> {
  return (await database.query('select client_secret from clients')).map((row) => row['client_secret']);
}
