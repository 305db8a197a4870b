import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { describeClientStore } from '../../contracts/client-store.ts';
import { InMemoryClientStore } from '../../support/in-memory-client-store.ts';

describeClientStore('InMemoryClientStore', async (recorder) => {
  const store = new InMemoryClientStore(new RandomIdGenerator(), recorder);
  return { store, another: async () => store, async close() {} };
});
