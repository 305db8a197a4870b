import { failure, type Result, success } from '../../domain/result.ts';
import type { ClientRange, ImportEntry, StoredClient } from '../ports/client-store.ts';
import type { ClientTokens } from '../ports/revocations.ts';
import { addClient, type NewClientRequest } from './add-client.ts';
import { type ChangeRequest, changeClient, type ManagementParts } from './change-client.ts';
import { describeClient } from './describe-client.ts';
import { type ListRequest, listClients } from './list-clients.ts';
import type { PlanOptions, PlanParts } from './plan-client.ts';
import { type ClientsPlan, planClients } from './plan-clients.ts';

export type ClientManagement = ReturnType<typeof createClientManagement>;

/** The tokens of clients, and the record of a change to them alone. */
interface TokenParts {
  readonly tokens: ClientTokens;
  /** Throws where nothing may be changed. */
  recordRevocation(clientId: string): void;
}

/** All use cases that manage registrations, on one store. */
export function createClientManagement(parts: ManagementParts & PlanParts & TokenParts) {
  const { store, clock, tokens } = parts;
  const described = (stored: StoredClient | undefined) =>
    stored === undefined ? failure('client_unknown' as const) : success(describeClient(stored, clock.now()));
  return {
    clock,
    addClient: (request: NewClientRequest) => addClient(parts, request),
    listClients: (request: ListRequest) => listClients(parts, request),
    /** Describes one client: its registration, how it authenticates, and what expires when. */
    showClient: async (clientId: string) => described(await store.find(clientId)),
    /** One that is disabled does not get its tokens back when it is enabled. */
    async changeClient(clientId: string, request: ChangeRequest) {
      const changed = await changeClient(parts, clientId, request);
      if (changed.ok && 'state' in request && request.state === 'disabled') await tokens.revokeAll([clientId]);
      return changed;
    },
    /** Describes the client as it was. Its tokens do not count again if it is registered once more. */
    async removeClient(clientId: string) {
      const removed = await store.remove(clientId);
      if (removed !== undefined) await tokens.revokeAll([clientId]);
      return described(removed);
    },
    /** Takes back all tokens that the client holds. */
    async revokeTokens(clientId: string): Promise<Result<void, 'client_unknown' | 'revocation_unknown'>> {
      if ((await store.find(clientId)) === undefined) return failure('client_unknown');
      parts.recordRevocation(clientId);
      return (await tokens.revokeAll([clientId])) ? success(undefined) : failure('revocation_unknown');
    },
    /** Its apply takes back the tokens of the clients that it removes. */
    async planClients(batches: AsyncIterable<readonly ImportEntry[]>, options: PlanOptions) {
      const planned = await planClients(parts, batches, options);
      if (!planned.ok) return planned;
      const plan = planned.value;
      const apply: ClientsPlan['apply'] = async (file) => {
        const applied = await plan.apply(file);
        const removed = plan.entries('removed').map(({ clientId }) => clientId);
        if (applied.ok && removed.length > 0) await tokens.revokeAll(removed);
        return applied;
      };
      return success({ ...plan, apply });
    },
    /** Everything that is stored of clients, page by page, and why the service refuses a client, or null. A storage that changes meanwhile is seen as it is when a page is read. */
    async *exportClients(range: ClientRange) {
      for await (const page of store.list(range)) {
        yield page.map((stored) => ({ ...stored, problem: describeClient(stored, clock.now()).problem }));
      }
    },
  };
}
