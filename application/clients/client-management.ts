import { AddClient, type AddClientParts } from './add-client.ts';
import { AddSecret } from './add-secret.ts';
import { ChangeDetails } from './change-details.ts';
import { DisableClient } from './disable-client.ts';
import { EnableClient } from './enable-client.ts';
import { ImportClients } from './import-clients.ts';
import { ListClients } from './list-clients.ts';
import { RemoveClient } from './remove-client.ts';
import { RemoveSecret } from './remove-secret.ts';
import { RotateSecret } from './rotate-secret.ts';
import { ShowClient } from './show-client.ts';

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** All use cases that manage registrations, on one store. */
export function createClientManagement(parts: AddClientParts) {
  const { store, encoder, clock, checkRule } = parts;
  return {
    addClient: new AddClient(parts),
    listClients: new ListClients(store, clock),
    showClient: new ShowClient(store, clock),
    rotateSecret: new RotateSecret(parts),
    addSecret: new AddSecret(parts),
    removeSecret: new RemoveSecret(store, clock),
    changeDetails: new ChangeDetails(store, clock, checkRule),
    disableClient: new DisableClient(store),
    enableClient: new EnableClient(store),
    removeClient: new RemoveClient(store),
    importClients: new ImportClients(store, encoder),
  };
}
