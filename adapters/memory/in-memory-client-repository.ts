import { lookupOf } from '../../application/client-lookup.ts';
import {
  type ClientLookup,
  type ClientRepository,
  type ClientWithKeys,
  FEDERATED_CANDIDATES_MAX,
  type FederatedCandidate,
  type FederatedIdentity,
} from '../../application/ports/client-repository.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import {
  type ClientKey,
  type Expiring,
  type FederatedSubject,
  hasExpired,
  type NamedSecret,
} from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { isLocked, NO_SECRET, StoredSecret } from '../../domain/stored-secret.ts';

/** A registration with one of its secrets. */
interface WithSecret {
  readonly lookup: Exclude<ClientLookup, { kind: 'unknown' }>;
  readonly secret: StoredSecret;
}

interface Client extends WithSecret, Expiring {
  /** The registration when the secret without an id has expired. */
  readonly expired: WithSecret;
  readonly named: readonly (WithSecret & Omit<NamedSecret, 'encoded'>)[];
  readonly keys: readonly ClientKey[];
}

/** Registrations in this process's memory. Added clients are copied, and returned registrations are immutable. */
export class InMemoryClientRepository implements ClientRepository {
  readonly #ids: IdGenerator;
  readonly #clock: Clock;
  readonly #clients = new Map<string, Client>();
  /** The conditions of the rules for each identity, by client id. */
  readonly #rules = new Map<string, Map<string, FederatedSubject['claims']>>();

  constructor(ids: IdGenerator, clock: Clock, clients: readonly NewClient[] = []) {
    this.#ids = ids;
    this.#clock = clock;
    for (const client of clients) this.add(client);
  }

  /** Registers a client under a new random id. Throws if the client id is taken. */
  add({ details = {}, ...client }: NewClient): void {
    const { clientId } = client;
    if (this.#clients.has(clientId)) throw new Error('a client of this id is registered already');
    const { clientSecret: { expires_at } = {}, ...others } = details;
    const { secrets = [], keys = [], subjects = [], resources = [], ...tokenFields } = others;
    const id = this.#ids.uuid();
    const withSecret = (clientSecret: string): WithSecret => ({
      lookup: lookupOf({ ...client, id, clientSecret, resources: Object.freeze([...resources]), ...tokenFields }),
      secret: StoredSecret.parse(clientSecret),
    });
    const usable = isLocked(client.clientSecret) ? [] : secrets;
    const named = usable.map(({ encoded, ...secret }) => ({ ...secret, ...withSecret(encoded) }));
    const isEnding = expires_at !== undefined && !isLocked(client.clientSecret);
    this.#clients.set(clientId, {
      ...withSecret(client.clientSecret),
      ...(isEnding && { expires_at }),
      expired: withSecret(NO_SECRET),
      named,
      keys: [...keys],
    });
    for (const { claims, ...identity } of subjects) {
      const rules = this.#rules.get(keyOf(identity)) ?? new Map();
      this.#rules.set(keyOf(identity), rules.set(clientId, claims));
    }
  }

  remove(clientId: string): void {
    this.#clients.delete(clientId);
    for (const rules of this.#rules.values()) rules.delete(clientId);
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    return this.#find(clientId, secretId)?.lookup ?? { kind: 'unknown' };
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    return this.#find(clientId, secretId)?.secret;
  }

  async findWithKeys(clientId: string): Promise<ClientWithKeys> {
    const { lookup, keys } = this.#clients.get(clientId) ?? { lookup: { kind: 'unknown' }, keys: [] };
    return { lookup, keys };
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const ids = [...(this.#rules.get(keyOf(identity)) ?? [])]
      .filter(([clientId]) => identity.clientId === undefined || clientId === identity.clientId)
      .toSorted(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    const candidates = ids.flatMap(([clientId, claims]) => {
      const client = this.#clients.get(clientId);
      return client === undefined ? [] : { clientId, lookup: client.lookup, claims };
    });
    return candidates.slice(0, FEDERATED_CANDIDATES_MAX);
  }

  #find(clientId: string, secretId: string | undefined): WithSecret | undefined {
    const client = this.#clients.get(clientId);
    const now = this.#clock.now();
    const named = client?.named.find(({ secret_id }) => secret_id === secretId);
    if (named !== undefined && !hasExpired(named, now)) return named;
    return client !== undefined && hasExpired(client, now) ? client.expired : client;
  }
}

function keyOf({ issuer, subject }: Pick<FederatedSubject, 'issuer' | 'subject'>): string {
  return JSON.stringify([issuer, subject]);
}
