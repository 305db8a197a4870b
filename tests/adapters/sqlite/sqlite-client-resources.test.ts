import { openClientRepository } from '../../../adapters/sqlite/sqlite-client-repository.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import { A_CLIENT } from '../../contracts/client-repository.ts';
import { describeClientResources } from '../../contracts/client-resources.ts';
import { createSqliteFile } from '../../support/sqlite-file.ts';

describeClientResources('sqliteClientResources', async (clients) => {
  const file = await createSqliteFile();
  for (const { clientId, resources } of clients) {
    await file.add({ ...A_CLIENT, clientId, details: { ...NO_DETAILS, resources } });
  }
  const { resources, dependency } = await openClientRepository(file.path, () => {});
  return {
    clientResources: resources,
    idOf: (clientId) => String(clients.findIndex((client) => client.clientId === clientId) + 1),
    async close() {
      await dependency.close();
      await file.remove();
    },
  };
});
