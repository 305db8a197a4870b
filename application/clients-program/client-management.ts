import { AddClient, type AddClientParts } from './add-client.ts';
import { ChangeDetails } from './change-details.ts';
import { ChangeState } from './change-state.ts';
import { GiveSecret } from './give-secret.ts';
import { ImportClients } from './import-clients.ts';
import { ListClients } from './list-clients.ts';
import { ShowClient } from './show-client.ts';

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** All use cases that manage registrations, on one store. */
export function createClientManagement(parts: AddClientParts) {
  const { store, encoder, clock } = parts;
  return {
    addClient: new AddClient(parts),
    listClients: new ListClients(store, clock),
    showClient: new ShowClient(store, clock),
    giveSecret: new GiveSecret(parts),
    changeDetails: new ChangeDetails(parts),
    changeState: new ChangeState(store),
    importClients: new ImportClients(store, encoder),
  };
}
