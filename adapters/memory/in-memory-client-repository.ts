import {
  type ClientRow,
  candidatesOfRow,
  keysOfRow,
  lookupOfRow,
  NOBODY,
  type PickDecoy,
  secretOfRow,
} from '../../application/client-lookup.ts';
import {
  type ClientKeys,
  type ClientLookup,
  type ClientRepository,
  type ClientSecret,
  FEDERATED_CANDIDATES_MAX,
  type FederatedCandidate,
  type FederatedIdentity,
} from '../../application/ports/client-repository.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { FederatedSubject } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { columnsOf, type StoredDocument } from '../../domain/details-document.ts';

/** Registrations in this process's memory, as rows like those of a table. Added clients are copied. */
export class InMemoryClientRepository implements ClientRepository {
  readonly #ids: IdGenerator;
  readonly #clock: Clock;
  readonly #pickDecoy: PickDecoy;
  readonly #rows = new Map<string, ClientRow<StoredDocument>>();
  /** The same rows, by their numbers. */
  #numbered: readonly ClientRow<StoredDocument>[] | undefined;
  /** The ids of the clients with a rule for each identity. */
  readonly #ruled = new Map<string, Set<string>>();

  constructor(
    { ids, clock, pickDecoy }: { readonly ids: IdGenerator; readonly clock: Clock; readonly pickDecoy: PickDecoy },
    clients: readonly NewClient[] = [],
  ) {
    this.#ids = ids;
    this.#clock = clock;
    this.#pickDecoy = pickDecoy;
    for (const client of clients) this.add(client);
  }

  /** Registers a client under a new random id. Throws if the client id is taken. */
  add({ details = {}, ...client }: NewClient): void {
    const { clientId } = client;
    if (this.#rows.has(clientId)) throw new Error('a client of this id is registered already');
    this.#rows.set(clientId, { ...client, id: this.#ids.uuid(), ...structuredClone(columnsOf(details)) });
    this.#numbered = undefined;
    for (const identity of details.federated_subjects ?? []) {
      this.#ruled.set(keyOf(identity), (this.#ruled.get(keyOf(identity)) ?? new Set()).add(clientId));
    }
  }

  remove(clientId: string): void {
    this.#rows.delete(clientId);
    this.#numbered = undefined;
    for (const ids of this.#ruled.values()) ids.delete(clientId);
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    const row = this.#rows.get(clientId);
    return row === undefined ? { kind: 'unknown' } : lookupOfRow(row, this.#clock.now(), secretId);
  }

  async findSecret(clientId: string, secretId?: string): Promise<ClientSecret> {
    return secretOfRow(this.#rowOrDecoy(clientId), { clientId, secretId }, this.#clock.now());
  }

  async findKeys(clientId: string, kid?: string): Promise<ClientKeys> {
    return keysOfRow(this.#rowOrDecoy(clientId), { clientId, kid }, () => {});
  }

  /** Picks a decoy for each client id, needed or not. */
  #rowOrDecoy(clientId: string) {
    this.#numbered ??= [...this.#rows.values()];
    const decoy = this.#numbered[this.#pickDecoy(clientId, this.#numbered.length) - 1] ?? NOBODY;
    return this.#rows.get(clientId) ?? decoy;
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const { clientId: only } = identity;
    return [...(this.#ruled.get(keyOf(identity)) ?? [])]
      .filter((clientId) => only === undefined || clientId === only)
      .toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
      .slice(0, FEDERATED_CANDIDATES_MAX)
      .flatMap((clientId) => this.#rows.get(clientId) ?? [])
      .flatMap((row) => candidatesOfRow(row, identity, this.#clock.now()));
  }
}

function keyOf({ issuer, subject }: Pick<FederatedSubject, 'issuer' | 'subject'>): string {
  return JSON.stringify([issuer, subject]);
}
