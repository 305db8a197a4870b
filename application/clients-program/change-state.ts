import type { ClientDocument } from '../../domain/client-document.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { lock, unlock } from '../../domain/stored-secret.ts';
import type { ClientStore } from '../ports/client-store.ts';
import { describeClient } from './describe-client.ts';

/** A client after a change, or as it was before its removal. */
interface ChangedClient {
  readonly client: ClientDocument;
  /** Whether there was anything to change. */
  readonly changed: boolean;
}

/** `hash_missing`: the lock has no hash behind it, so that unlocking would enable nothing. The client needs a new secret. */
export type ChangeStateProblem = 'client_unknown' | 'hash_missing';

/**
 * Disables a client, enables it again, or removes it. A disabled client keeps its secret behind a lock. Tokens that were
 * issued to a client stay valid until they expire.
 */
export class ChangeState {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  async execute(
    clientId: string,
    change: 'disable' | 'enable' | 'remove',
  ): Promise<Result<ChangedClient, ChangeStateProblem>> {
    const { clients, changed } =
      change === 'remove'
        ? { clients: await this.#store.remove(clientId), changed: true }
        : await this.#store.changeSecret(clientId, change === 'disable' ? lock : unlock);
    const client = describeClient(clients);
    if (!client.ok) return client;
    if (change === 'enable' && !changed && client.value.state === 'disabled') return failure('hash_missing');
    return success({ client: client.value, changed });
  }
}
