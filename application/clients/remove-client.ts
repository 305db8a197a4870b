import type { Result } from '../../domain/result.ts';
import type { ClientStore } from '../ports/client-store.ts';
import { describeClient, type ManagedClient } from './managed-client.ts';

/** Deletes a client with its secret. Tokens that were issued to it stay valid until they expire. */
export class RemoveClient {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  /** The client as it was. */
  async execute(clientId: string): Promise<Result<ManagedClient, 'client_unknown'>> {
    return describeClient(await this.#store.remove(clientId));
  }
}
