import { type Result, success } from '../../domain/result.ts';
import { lock } from '../../domain/stored-secret.ts';
import type { ClientStore } from '../ports/client-store.ts';
import { describeClient, type ManagedClient } from './managed-client.ts';

/** A client after a change, and whether there was anything to change. */
export interface ChangedClient {
  readonly client: ManagedClient;
  readonly changed: boolean;
}

/** Locks the secret of a client, so that no secret matches until the client is enabled again. */
export class DisableClient {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  async execute(clientId: string): Promise<Result<ChangedClient, 'client_unknown'>> {
    const { clients, changed } = await this.#store.changeSecret(clientId, lock);
    const client = describeClient(clients);
    return client.ok ? success({ client: client.value, changed }) : client;
  }
}
