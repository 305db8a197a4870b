import type { ClientKeys } from '../../../application/ports/client-keys.ts';
import type { ClientRepository } from '../../../application/ports/client-repository.ts';
import type { NewClient } from '../../../domain/client-registration.ts';

/**
 * The keys of the registrations of an in-memory repository.
 *
 * @param registered the clients of that repository.
 */
export function inMemoryClientKeys(
  clients: Pick<ClientRepository, 'findByClientId'>,
  registered: readonly NewClient[],
): ClientKeys {
  const keys = new Map(registered.map(({ clientId, details }) => [clientId, details?.keys ?? []]));
  return {
    async findKeys(clientId) {
      const lookup = await clients.findByClientId(clientId);
      if (lookup.kind === 'unknown') return { registrationId: undefined, keys: [] };
      // A broken registration does not tell its id, and is never used.
      const registrationId = lookup.kind === 'found' ? lookup.registration.id : 'broken';
      return { registrationId, keys: keys.get(clientId) ?? [] };
    },
  };
}
