import type { ClientResources } from '../../application/ports/client-resources.ts';
import type { ClientRegistration, NewClient } from '../../domain/client-registration.ts';

/** The resources of the registrations of a clients file, which never change while the process runs. */
export class InMemoryClientResources implements ClientResources {
  readonly #resources: ReadonlyMap<string, readonly string[]>;

  constructor(clients: readonly NewClient[]) {
    this.#resources = new Map(clients.map(({ clientId, details }) => [clientId, details?.resources ?? []]));
  }

  async findResources({ clientId }: Pick<ClientRegistration, 'clientId'>): Promise<readonly string[]> {
    return [...(this.#resources.get(clientId) ?? [])];
  }
}
