import { SqliteClientStore } from '../../../../adapters/sqlite/clients-program/sqlite-client-store.ts';
import { describeClientStore } from '../../../contracts/client-store.ts';
import { createSqliteFile } from '../../../support/sqlite-file.ts';

describeClientStore('SqliteClientStore', async (recorder) => {
  const file = await createSqliteFile();
  const stores: SqliteClientStore[] = [];
  const another = async () => {
    const store = new SqliteClientStore(file.path, recorder);
    stores.push(store);
    return store;
  };
  return {
    store: await another(),
    another,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await file.remove();
    },
  };
});
