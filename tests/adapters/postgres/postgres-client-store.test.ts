import { afterAll, beforeAll } from '@jest/globals';
import { PostgresClientStore } from '../../../adapters/postgres/postgres-client-store.ts';
import { describeClientStore } from '../../contracts/client-store.ts';
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
