import { closestTo } from '../../domain/edit-distance.ts';
import type { ClientRange, ImportEntry } from '../ports/client-store.ts';
import { addClient, type NewClientRequest } from './add-client.ts';
import { type ChangeRequest, changeClient, type ManagementParts } from './change-client.ts';
import { describeClient, describePages, describeWithCredentials } from './describe-client.ts';
import { type ImportOptions, importClients } from './import-clients.ts';
import { type ListRequest, listClients } from './list-clients.ts';

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** All use cases that manage registrations, on one store. */
export function createClientManagement(parts: ManagementParts) {
  const { store, clock } = parts;
  return {
    clock,
    addClient: (request: NewClientRequest) => addClient(parts, request),
    listClients: (request: ListRequest) => listClients(parts, request),
    /** Describes one client: its registration, how it authenticates, and what expires when. */
    showClient: async (clientId: string) => describeWithCredentials(await store.find(clientId), clock.now()),
    changeClient: (clientId: string, request: ChangeRequest) => changeClient(parts, clientId, request),
    /** Describes the client as it was. Tokens that it holds stay valid until they expire. */
    removeClient: async (clientId: string) => describeClient(await store.remove(clientId)),
    importClients: (batches: AsyncIterable<readonly ImportEntry[]>, options: ImportOptions) =>
      importClients(parts, batches, options),
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
