import { failure, type Result, success } from '../../domain/result.ts';
import { unlock } from '../../domain/stored-secret.ts';
import type { ClientStore } from '../ports/client-store.ts';
import type { ChangedClient } from './disable-client.ts';
import { describeClient } from './managed-client.ts';

/** Unlocks the secret of a disabled client, so that its secret matches again. */
export class EnableClient {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  /** `hash_missing`: the lock has no hash behind it, so that unlocking would enable nothing. The client needs a new secret. */
  async execute(clientId: string): Promise<Result<ChangedClient, 'client_unknown' | 'hash_missing'>> {
    const { clients, changed } = await this.#store.changeSecret(clientId, unlock);
    const client = describeClient(clients);
    if (!client.ok) return client;
    if (!changed && client.value.state === 'disabled') return failure('hash_missing');
    return success({ client: client.value, changed });
  }
}
