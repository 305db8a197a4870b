import type { ClientStore } from '../ports/client-store.ts';
import { describeClients, type ManagedClient } from './managed-client.ts';

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
