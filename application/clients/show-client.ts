import type { Result } from '../../domain/result.ts';
import type { ClientStore } from '../ports/client-store.ts';
import { describeClient, type ManagedClient } from './managed-client.ts';

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
