import type { ClientStore } from '../ports/client-store.ts';
import type { IdGenerator } from '../ports/id-generator.ts';
import type { SecretEncoder } from '../ports/secret-encoder.ts';
import type { SecretGenerator } from '../ports/secret-generator.ts';
import { AddClient } from './add-client.ts';
import { DisableClient } from './disable-client.ts';
import { EnableClient } from './enable-client.ts';
import { ImportClients } from './import-clients.ts';
import { ListClients } from './list-clients.ts';
import { RemoveClient } from './remove-client.ts';
import { RotateSecret } from './rotate-secret.ts';
import { ShowClient } from './show-client.ts';

export interface ClientManagementParts {
  readonly store: ClientStore;
  readonly encoder: SecretEncoder;
  readonly generator: SecretGenerator;
  readonly ids: IdGenerator;
}

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** All use cases that manage registrations, on one store. */
export function createClientManagement({ store, encoder, generator, ids }: ClientManagementParts) {
  return {
    addClient: new AddClient(store, encoder, generator, ids),
    listClients: new ListClients(store),
    showClient: new ShowClient(store),
    rotateSecret: new RotateSecret(store, encoder, generator),
    disableClient: new DisableClient(store),
    enableClient: new EnableClient(store),
    removeClient: new RemoveClient(store),
    importClients: new ImportClients(store, encoder),
  };
}
