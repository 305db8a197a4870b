import { expect, it } from '@jest/globals';
import { InMemoryFederatedClients } from '../../../../adapters/memory/federated-jwt/in-memory-federated-clients.ts';
import { InMemoryClientRepository } from '../../../../adapters/memory/in-memory-client-repository.ts';
import { RandomIdGenerator, SystemClock } from '../../../../adapters/system/system.ts';
import { NO_DETAILS } from '../../../../domain/client-details.ts';
import { NO_SECRET } from '../../../../domain/stored-secret.ts';
import { describeFederatedClients } from '../../../contracts/federated-clients.ts';

describeFederatedClients('InMemoryFederatedClients', async () => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), new SystemClock());
  const clients = new InMemoryFederatedClients(repository);
  return {
    clients,
    async add(clientId, subjects) {
      const details = { ...NO_DETAILS, subjects };
      const client = { clientId, clientSecret: NO_SECRET, clientName: 'A workload', scope: 'read', details };
      repository.add(client);
      clients.add(client);
    },
    close: async () => {},
  };
});

it('finds no client that has been removed from the repository', async () => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), new SystemClock());
  const subject = { issuer: 'https://issuer.test', subject: 'a workload' };
  const details = { ...NO_DETAILS, subjects: [{ ...subject, claims: {} }] };
  const client = { clientId: 'a', clientSecret: NO_SECRET, clientName: 'A workload', scope: 'read', details };
  repository.add(client);
  const clients = new InMemoryFederatedClients(repository, [client]);
  expect(await clients.findBySubject(subject)).toMatchObject([{ clientId: 'a', lookup: { kind: 'found' } }]);
  repository.remove('a');
  expect(await clients.findBySubject(subject)).toEqual([]);
});
