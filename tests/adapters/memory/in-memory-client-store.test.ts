import { InMemoryClientStore } from '../../../adapters/memory/in-memory-client-store.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { describeClientStore } from '../../contracts/client-store.ts';

describeClientStore('InMemoryClientStore', async () => {
  const store = new InMemoryClientStore(new RandomIdGenerator());
  return { store, another: async () => store, async close() {} };
});
