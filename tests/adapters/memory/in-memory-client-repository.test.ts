import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import { describeClientRepository, type NewClient } from '../../contracts/client-repository.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

describeClientRepository('InMemoryClientRepository', async () => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), new FixedClock());
  const stored = new Map<string, NewClient>();
  const add = async (client: NewClient) => {
    repository.add(client);
    stored.set(client.clientId, client);
  };
  const change = async (clientId: string, changes: (client: NewClient) => Partial<NewClient>) => {
    const client = stored.get(clientId);
    if (client === undefined) throw new Error('no such client');
    repository.remove(clientId);
    await add({ ...client, ...changes(client) });
  };
  return {
    repository,
    add,
    change: (clientId, changes) => change(clientId, () => changes),
    addSecret: (clientId, secret) =>
      change(clientId, ({ details = NO_DETAILS }) => ({
        details: { ...details, secrets: [...(details.secrets ?? []), secret] },
      })),
    async remove(clientId) {
      repository.remove(clientId);
    },
    async close() {},
  };
});
