import type { ClientKeys, FoundKeys } from '../../../application/ports/client-keys.ts';
import type { ClientRepository } from '../../../application/ports/client-repository.ts';
import type { ClientKey } from '../../../domain/client-details.ts';
import type { NewClient } from '../../../domain/client-registration.ts';

/** The keys of the registrations of an in-memory repository. */
export class InMemoryClientKeys implements ClientKeys {
  readonly #clients: Pick<ClientRepository, 'findByClientId'>;
  readonly #keys: ReadonlyMap<string, readonly ClientKey[]>;

  /** @param registered the clients of that repository. */
  constructor(clients: Pick<ClientRepository, 'findByClientId'>, registered: readonly NewClient[]) {
    this.#clients = clients;
    this.#keys = new Map(registered.map(({ clientId, details }) => [clientId, details?.keys ?? []]));
  }

  async findKeys(clientId: string): Promise<FoundKeys> {
    const lookup = await this.#clients.findByClientId(clientId);
    if (lookup.kind === 'unknown') return { registrationId: undefined, keys: [] };
    // A broken registration does not tell its id, and is never used.
    const registrationId = lookup.kind === 'found' ? lookup.registration.id : 'broken';
    return { registrationId, keys: this.#keys.get(clientId) ?? [] };
  }
}
