import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { describeClientRepository, type NewClient } from '../../contracts/client-repository.ts';

describeClientRepository('InMemoryClientRepository', async () => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator());
  const stored = new Map<string, NewClient>();
  const add = async (client: NewClient) => {
    repository.add(client);
    stored.set(client.clientId, client);
  };
  return {
    repository,
    add,
    async change(clientId, changes) {
      const client = stored.get(clientId);
      if (client === undefined) throw new Error('no such client');
      repository.remove(clientId);
      await add({ ...client, ...changes });
    },
    async remove(clientId) {
      repository.remove(clientId);
    },
    async close() {},
  };
});
