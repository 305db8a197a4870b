import { inMemoryClientResources } from '../../../adapters/memory/in-memory-client-resources.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import { A_CLIENT } from '../../contracts/client-repository.ts';
import { describeClientResources } from '../../contracts/client-resources.ts';

describeClientResources('inMemoryClientResources', async (clients) => ({
  clientResources: inMemoryClientResources(
    clients.map(({ clientId, resources }) => ({ ...A_CLIENT, clientId, details: { ...NO_DETAILS, resources } })),
  ),
  idOf: () => 'any',
  close: async () => {},
}));
