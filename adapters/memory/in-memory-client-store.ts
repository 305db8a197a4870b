import type {
  ChangedClients,
  ClientStore,
  SavedClients,
  SecretReplacement,
} from '../../application/ports/client-store.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** Clients in the memory of this process, for programs that manage them. Shows that the port does not depend on SQL. */
export class InMemoryClientStore implements ClientStore {
  readonly #ids: IdGenerator;
  readonly #clients = new Map<string, ClientRegistrationFields>();

  constructor(ids: IdGenerator) {
    this.#ids = ids;
  }

  async list(): Promise<readonly ClientRegistrationFields[]> {
    return [...this.#clients.values()].sort((one, other) =>
      Buffer.compare(Buffer.from(one.clientId), Buffer.from(other.clientId)),
    );
  }

  async find(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    const client = this.#clients.get(clientId);
    return client === undefined ? [] : [client];
  }

  async save(
    clients: readonly NewClient[],
    replacement?: SecretReplacement,
  ): Promise<Result<SavedClients, ReadonlySet<string>>> {
    const added: ClientRegistrationFields[] = [];
    const replaced: ClientRegistrationFields[] = [];
    const taken = new Set<string>();
    for (const client of clients) {
      const stored = this.#clients.get(client.clientId);
      if (stored === undefined) added.push({ ...client, id: this.#ids.uuid() });
      else if (replacement === undefined) taken.add(client.clientId);
      else
        replaced.push({
          ...client,
          id: stored.id,
          clientSecret: replacement(stored.clientSecret, client.clientSecret),
        });
    }
    if (taken.size > 0) return failure(taken);
    for (const client of [...added, ...replaced]) this.#clients.set(client.clientId, client);
    return success({ added, replaced });
  }

  async changeSecret(clientId: string, change: (stored: string) => string): Promise<ChangedClients> {
    const stored = this.#clients.get(clientId);
    if (stored === undefined) return { clients: [], changed: false };
    const client = { ...stored, clientSecret: change(stored.clientSecret) };
    this.#clients.set(clientId, client);
    return { clients: [client], changed: client.clientSecret !== stored.clientSecret };
  }

  async remove(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    const removed = this.#clients.get(clientId);
    this.#clients.delete(clientId);
    return removed === undefined ? [] : [removed];
  }
}
