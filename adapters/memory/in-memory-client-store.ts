import {
  type ChangedClients,
  type ClientImport,
  type ClientRange,
  type ClientStore,
  DISPLAYED_TEXT_MAX,
} from '../../application/ports/client-store.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { InMemoryClientImport } from './in-memory-client-import.ts';

const PAGE_SIZE = 500;

/** Clients in the memory of this process, for programs that manage them. Shows that the port does not depend on SQL. */
export class InMemoryClientStore implements ClientStore {
  readonly #ids: IdGenerator;
  readonly #clients = new Map<string, ClientRegistrationFields>();

  constructor(ids: IdGenerator) {
    this.#ids = ids;
  }

  async *list({ prefix, after }: ClientRange): AsyncGenerator<readonly ClientRegistrationFields[]> {
    const clients = [...this.#clients.values()]
      .filter(({ clientId }) => clientId.startsWith(prefix) && (after === undefined || compare(clientId, after) > 0))
      .sort((one, other) => compare(one.clientId, other.clientId))
      .map(cut);
    for (let start = 0; start < clients.length; start += PAGE_SIZE) yield clients.slice(start, start + PAGE_SIZE);
  }

  async find(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    const client = this.#clients.get(clientId);
    return client === undefined ? [] : [cut(client)];
  }

  async add(client: NewClient): Promise<ClientRegistrationFields | undefined> {
    if (this.#clients.has(client.clientId)) return undefined;
    const added = { ...client, id: this.#ids.uuid() };
    this.#clients.set(client.clientId, added);
    return cut(added);
  }

  async startImport(): Promise<ClientImport> {
    return new InMemoryClientImport(this.#clients, this.#ids);
  }

  async changeSecret(clientId: string, change: (stored: string) => string): Promise<ChangedClients> {
    const stored = this.#clients.get(clientId);
    if (stored === undefined) return { clients: [], changed: false };
    const client = { ...stored, clientSecret: change(stored.clientSecret) };
    this.#clients.set(clientId, client);
    return { clients: [client], changed: client.clientSecret !== stored.clientSecret };
  }

  async remove(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    const removed = await this.find(clientId);
    this.#clients.delete(clientId);
    return removed;
  }
}

/** Byte by byte in UTF-8. */
function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function cut(client: ClientRegistrationFields): ClientRegistrationFields {
  const [id, clientId, clientSecret, clientName, scope] = (
    [client.id, client.clientId, client.clientSecret, client.clientName, client.scope] as const
  ).map((text) => text.slice(0, DISPLAYED_TEXT_MAX)) as [string, string, string, string, string];
  return { id, clientId, clientSecret, clientName, scope };
}
