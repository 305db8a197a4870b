import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import { ClientRegistration, type NewClient } from '../../domain/client-registration.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';

/** Registrations in this process's memory. Added clients are copied, and returned registrations are immutable. */
export class InMemoryClientRepository implements ClientRepository {
  readonly #ids: IdGenerator;
  readonly #lookups = new Map<string, ClientLookup>();
  readonly #secrets = new Map<string, StoredSecret>();

  constructor(ids: IdGenerator, clients: readonly NewClient[] = []) {
    this.#ids = ids;
    for (const client of clients) this.add(client);
  }

  /** Registers a client under a new random id. Throws if the client id is taken. */
  add(fields: NewClient): void {
    if (this.#lookups.has(fields.clientId)) throw new Error('a client of this id is registered already');
    const registration = ClientRegistration.of({ ...fields, id: this.#ids.uuid() });
    this.#lookups.set(
      fields.clientId,
      registration.ok
        ? { kind: 'found', registration: registration.value }
        : { kind: 'broken', problem: registration.problem },
    );
    this.#secrets.set(fields.clientId, StoredSecret.parse(fields.clientSecret));
  }

  remove(clientId: string): void {
    this.#lookups.delete(clientId);
    this.#secrets.delete(clientId);
  }

  async findByClientId(clientId: string): Promise<ClientLookup> {
    return this.#lookups.get(clientId) ?? { kind: 'unknown' };
  }

  async findSecret(clientId: string): Promise<StoredSecret | undefined> {
    return this.#secrets.get(clientId);
  }
}
