import type { ClientResources } from '../../application/ports/client-resources.ts';
import type { NewClient } from '../../domain/client-registration.ts';

/** The resources of the registrations of a clients file, which never change while the process runs. */
export function inMemoryClientResources(clients: readonly NewClient[]): ClientResources {
  const resources = new Map(clients.map(({ clientId, details }) => [clientId, details?.resources ?? []]));
  return { findResources: async ({ clientId }) => [...(resources.get(clientId) ?? [])] };
}
