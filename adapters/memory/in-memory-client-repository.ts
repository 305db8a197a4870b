import { lookupOf } from '../../application/client-lookup.ts';
import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import { hasExpired, type NamedSecret } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { StoredSecret, selectSecret } from '../../domain/stored-secret.ts';

/** A client's registration for each of its secrets. */
interface Client {
  readonly lookup: ClientLookup;
  readonly secret: StoredSecret;
  readonly named: readonly SecretOfClient[];
}

/** The registration with the secret that an id selects, until the secret expires. */
interface SecretOfClient extends Omit<NamedSecret, 'encoded'> {
  readonly lookup: ClientLookup;
  readonly secret: StoredSecret;
}

/** Registrations in this process's memory. Added clients are copied, and returned registrations are immutable. */
export class InMemoryClientRepository implements ClientRepository {
  readonly #ids: IdGenerator;
  readonly #clock: Clock;
  readonly #clients = new Map<string, Client>();

  constructor(ids: IdGenerator, clock: Clock, clients: readonly NewClient[] = []) {
    this.#ids = ids;
    this.#clock = clock;
    for (const client of clients) this.add(client);
  }

  /** Registers a client under a new random id. Throws if the client id is taken. */
  add(client: NewClient): void {
    if (this.#clients.has(client.clientId)) throw new Error('a client of this id is registered already');
    const id = this.#ids.uuid();
    const withSecret = (clientSecret: string) => ({
      lookup: lookupOf({ ...client, id, clientSecret }),
      secret: StoredSecret.parse(clientSecret),
    });
    const named = (client.details?.secrets ?? []).map(({ encoded, ...secret }) => ({
      ...secret,
      ...withSecret(selectSecret(client.clientSecret, encoded)),
    }));
    this.#clients.set(client.clientId, { ...withSecret(client.clientSecret), named });
  }

  remove(clientId: string): void {
    this.#clients.delete(clientId);
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    return this.#find(clientId, secretId)?.lookup ?? { kind: 'unknown' };
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    return this.#find(clientId, secretId)?.secret;
  }

  #find(clientId: string, secretId: string | undefined): Pick<Client, 'lookup' | 'secret'> | undefined {
    const client = this.#clients.get(clientId);
    if (secretId === undefined || client === undefined) return client;
    const named = client.named.find(({ secret_id }) => secret_id === secretId);
    return named === undefined || hasExpired(named, this.#clock.now()) ? client : named;
  }
}
