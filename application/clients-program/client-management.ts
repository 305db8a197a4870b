import type { ClientDocument } from '../../domain/client-document.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type { ClientRange, ImportEntry, StoredClient } from '../ports/client-store.ts';
import { addClient, type NewClientRequest } from './add-client.ts';
import { type ChangeRequest, changeClient, type ManagementParts } from './change-client.ts';
import { describeClient } from './describe-client.ts';
import { type ListRequest, lastUseOf, listClients } from './list-clients.ts';
import type { PlanOptions, PlanParts } from './plan-client.ts';
import { planClients } from './plan-clients.ts';

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** All use cases that manage registrations, on one store. */
export function createClientManagement(parts: ManagementParts & PlanParts) {
  const { store, clock, tokens, lastUsed } = parts;
  const described = (stored: StoredClient | undefined) =>
    stored === undefined ? failure('client_unknown' as const) : success(describeClient(stored, clock.now()));
  return {
    clock,
    addClient: (request: NewClientRequest) => addClient(parts, request),
    listClients: (request: ListRequest) => listClients(parts, request),
    /** Whether a service has recorded the last use of clients. */
    recordsLastUse: async () => (await lastUsed.find([])).since !== undefined,
    /** Describes one client: its registration, how it authenticates, and what expires when. */
    async showClient(clientId: string): Promise<Result<ClientDocument, 'client_unknown'>> {
      const found = described(await store.find(clientId));
      if (!found.ok) return found;
      return success({ ...found.value, ...lastUseOf(clientId, await lastUsed.find([clientId])) });
    },
    /** Of one that is disabled, the tokens are revoked: they do not become active again with it. */
    changeClient: (clientId: string, request: ChangeRequest) => changeClient(parts, clientId, request),
    /** Describes the client as it was. Its tokens are revoked, also for a later client of its id. */
    async removeClient(clientId: string) {
      // As in changeClient.
      const removed = await store.remove(clientId, () => tokens.revokeAll([clientId]));
      if (removed !== undefined) await tokens.revokeAll([clientId]);
      if (removed !== undefined) await lastUsed.forget([clientId]);
      return described(removed);
    },
    /** Revokes all tokens that the client holds. Those that it gets once this resolves are active. */
    async revokeTokens(clientId: string): Promise<Result<void, 'client_unknown' | 'revocation_unknown'>> {
      if ((await store.find(clientId)) === undefined) return failure('client_unknown');
      if (!(await tokens.areKept())) return failure('revocation_unknown');
      await tokens.revokeAll([clientId], { kind: 'tokens', clientId });
      await tokens.settled();
      return success(undefined);
    },
    planClients: (batches: AsyncIterable<readonly ImportEntry[]>, options: PlanOptions) =>
      planClients(parts, batches, options),
    /**
     * Everything that is stored of clients, page by page, and why the service refuses a client, or null. A storage that
     * changes meanwhile is seen as it is when a page is read.
     */
    async *exportClients(range: ClientRange) {
      for await (const page of store.list(range)) {
        yield page.map((stored) => ({ ...stored, problem: describeClient(stored, clock.now()).problem }));
      }
    },
  };
}
