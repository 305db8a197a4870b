import type { ClientRegistrationFields } from '../../domain/client-registration.ts';
import type { ClientStore } from '../ports/client-store.ts';
import { describeClients, type ManagedClient } from './managed-client.ts';

/** Describes every client, broken ones too. */
export class ListClients {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  /** Ordered by client id. */
  async execute(): Promise<readonly ManagedClient[]> {
    const clients: ClientRegistrationFields[] = [];
    for await (const client of this.#store.list()) clients.push(client);
    return describeClients(clients);
  }
}
