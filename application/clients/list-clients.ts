import type { Result } from '../../domain/result.ts';
import type { ClientStore } from '../ports/client-store.ts';
import { describeClient, describeClients, type ManagedClient } from './managed-client.ts';

/** Describes every client, including broken ones. */
export class ListClients {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  /** Ordered by client id. */
  async execute(): Promise<readonly ManagedClient[]> {
    return describeClients(await this.#store.list());
  }
}

/** Describes one client. */
export class ShowClient {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  async execute(clientId: string): Promise<Result<ManagedClient, 'client_unknown'>> {
    return describeClient(await this.#store.find(clientId));
  }
}
