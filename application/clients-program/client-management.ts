import { closestTo } from '../../domain/edit-distance.ts';
import type { ClientRange } from '../ports/client-store.ts';
import { AddClient } from './add-client.ts';
import { ChangeClient, type ManagementParts } from './change-client.ts';
import { describeClient, describePages, describeWithCredentials } from './describe-client.ts';
import { ImportClients } from './import-clients.ts';
import { ListClients } from './list-clients.ts';

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** All use cases that manage registrations, on one store. */
export function createClientManagement(parts: ManagementParts) {
  const { store, clock } = parts;
  return {
    clock,
    addClient: new AddClient(parts),
    listClients: new ListClients(store, clock),
    /** Describes one client: its registration, how it authenticates, and what expires when. */
    showClient: async (clientId: string) => describeWithCredentials(await store.find(clientId), clock.now()),
    changeClient: new ChangeClient(parts),
    /** Describes the client as it was. Tokens that it holds stay valid until they expire. */
    removeClient: async (clientId: string) => describeClient(await store.remove(clientId)),
    importClients: new ImportClients(parts),
    /** Everything that is stored of clients, page by page. A storage that changes meanwhile is seen as it is when a page is read. */
    exportClients: (range: ClientRange) => describePages(store.export(range)),
    /** The id that somebody probably meant by one that no client has. Reads two pages of clients at most. */
    similarId: async (clientId: string) => {
      const ids: string[] = [];
      for (const prefix of ['', clientId.slice(0, 2)]) {
        for await (const page of store.list({ prefix })) {
          ids.push(...page.map((client) => client.clientId));
          break;
        }
      }
      return closestTo(clientId, ids);
    },
  };
}
