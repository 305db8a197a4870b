import { AddClient, type AddClientParts } from './add-client.ts';
import { ChangeDetails } from './change-details.ts';
import { ChangeState } from './change-state.ts';
import { describeWithCredentials } from './describe-client.ts';
import { GiveSecret } from './give-secret.ts';
import { ImportClients } from './import-clients.ts';
import { ListClients } from './list-clients.ts';

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** All use cases that manage registrations, on one store. */
export function createClientManagement(parts: AddClientParts) {
  const { store, encoder, clock } = parts;
  return {
    addClient: new AddClient(parts),
    listClients: new ListClients(store, clock),
    /** Describes one client: its registration, how it authenticates, and what expires when. */
    showClient: async (clientId: string) => describeWithCredentials(await store.find(clientId), clock.now()),
    giveSecret: new GiveSecret(parts),
    changeDetails: new ChangeDetails(parts),
    changeState: new ChangeState(store),
    importClients: new ImportClients(store, encoder),
  };
}
