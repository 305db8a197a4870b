import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import { ClientRegistration, type ClientRegistrationFields } from '../../domain/client-registration.ts';

/** Registrations in this process's memory. What comes in is copied, what goes out cannot be changed. */
export class InMemoryClientRepository implements ClientRepository {
  readonly #ids: IdGenerator;
  readonly #fields = new Map<string, ClientRegistrationFields>();

  constructor(ids: IdGenerator) {
    this.#ids = ids;
  }

  /** Registers a client under a new random id. Throws where the client id is taken. */
  add(fields: Omit<ClientRegistrationFields, 'id'>): void {
    if (this.#fields.has(fields.clientId)) throw new Error('a client of this id is registered already');
    this.#fields.set(fields.clientId, { ...fields, id: this.#ids.uuid() });
  }

  remove(clientId: string): void {
    this.#fields.delete(clientId);
  }

  async findByClientId(clientId: string): Promise<ClientLookup> {
    const fields = this.#fields.get(clientId);
    if (fields === undefined) return { kind: 'unknown' };
    const registration = ClientRegistration.of(fields);
    return registration.ok
      ? { kind: 'found', registration: registration.value }
      : { kind: 'broken', problem: registration.problem };
  }
}
