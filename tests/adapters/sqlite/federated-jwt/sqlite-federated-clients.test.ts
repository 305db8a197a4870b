import { sqliteFederatedClients } from '../../../../adapters/sqlite/federated-jwt/sqlite-federated-clients.ts';
import { openClientRepository } from '../../../../adapters/sqlite/sqlite-client-repository.ts';
import { NO_DETAILS } from '../../../../domain/client-details.ts';
import { A_CLIENT } from '../../../contracts/client-repository.ts';
import { describeFederatedClients } from '../../../contracts/federated-clients.ts';
import { createSqliteFile } from '../../../support/sqlite-file.ts';

describeFederatedClients('sqliteFederatedClients', async () => {
  const file = await createSqliteFile();
  const opened = await openClientRepository(file.path, () => {});
  return {
    clients: sqliteFederatedClients(opened.file, () => {}),
    add: (clientId, subjects) => file.add({ ...A_CLIENT, clientId, details: { ...NO_DETAILS, subjects } }),
    async close() {
      await opened.dependency.close();
      await file.remove();
    },
  };
});
