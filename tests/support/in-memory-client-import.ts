import type {
  ClientChange,
  ClientImport,
  ExistingClients,
  ImportCounts,
  ImportedFile,
  PlanCounts,
  PlanEntry,
  PlannedClient,
  RepeatedClient,
  StoredClient,
  StoredEntry,
  VersionedClient,
} from '../../application/ports/client-store.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { ClientDetails } from '../../domain/client-details.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { isLocked, replaceSecret } from '../../domain/stored-secret.ts';

type RecordChange = (change: Extract<ClientChange, { clients: unknown }>) => void;

/** What a plan needs of the store. */
export interface PlanAccess {
  stored(clientId: string): StoredClient | undefined;
  remove(clientId: string): void;
}

type Planned = PlannedClient['plan'] & { readonly kind: keyof PlanCounts };
type StoreDetails = (clientId: string, given: Partial<ClientDetails>) => void;

/** An import into a map of clients by their ids. */
export class InMemoryClientImport implements ClientImport {
  readonly #stored: Map<string, ClientRegistrationFields>;
  readonly #ids: IdGenerator;
  readonly #record: RecordChange;
  readonly #storeDetails: StoreDetails;
  readonly #given = new Map<string, { readonly client: NewClient; readonly position: number }>();
  readonly #done: Record<keyof ImportCounts, string[]> = { added: [], replaced: [], locked: [] };
  readonly #access: PlanAccess;
  readonly #planned = new Map<string, Planned>();
  #count = 0;

  /** @param record is called before anything is stored. */
  constructor(
    stored: Map<string, ClientRegistrationFields>,
    ids: IdGenerator,
    record: RecordChange,
    storeDetails: StoreDetails,
    access: PlanAccess,
  ) {
    this.#access = access;
    this.#stored = stored;
    this.#ids = ids;
    this.#record = record;
    this.#storeDetails = storeDetails;
  }

  async find(clientIds: readonly string[]): Promise<readonly VersionedClient[]> {
    return clientIds.flatMap((clientId) => {
      const found = this.#access.stored(clientId);
      return found === undefined ? [] : [{ ...found, version: JSON.stringify(found) }];
    });
  }

  async prune(owner: string): Promise<void> {
    for (const { clientId, version } of await this.#others(owner)) {
      this.#planned.set(clientId, { kind: 'removed', version, changes: [] });
    }
  }

  async countPlan(): Promise<PlanCounts> {
    const count = (wanted: keyof PlanCounts) =>
      [...this.#planned.values()].filter(({ kind }) => kind === wanted).length;
    return {
      added: count('added'),
      changed: count('changed'),
      removed: count('removed'),
      unchanged: count('unchanged'),
    };
  }

  async *plan(wanted: keyof PlanCounts): AsyncGenerator<readonly PlanEntry[]> {
    const entries = [...this.#planned].filter(([, { kind }]) => kind === wanted);
    const sorted = entries.sort(([one], [other]) => Buffer.from(one).compare(Buffer.from(other)));
    if (sorted.length > 0) yield sorted.map(([clientId, { changes }]) => ({ clientId, changes }));
  }

  async apply(file: ImportedFile, pruned: string | undefined): Promise<Result<PlanCounts, 'plan_outdated'>> {
    const found = new Map(
      (await this.find([...this.#planned.keys()])).map((one) => [one.client.clientId, one.version]),
    );
    const isOutdated = [...this.#planned].some(([clientId, { version }]) => found.get(clientId) !== version);
    if (isOutdated || (pruned !== undefined && (await this.#others(pruned)).length > 0))
      return failure('plan_outdated');
    const counts = await this.countPlan();
    const clients = [...this.#planned].flatMap(([clientId, { kind: action, changes }]): StoredEntry[] => {
      if (action === 'unchanged') return [];
      return [{ clientId, action, changes, ...namesOf(this.#given.get(clientId)?.client, changes) }];
    });
    this.#record({ kind: 'apply', counts, file, clients: inOrder(clients) });
    for (const [clientId, { kind }] of this.#planned) {
      const client = this.#given.get(clientId)?.client;
      const id = this.#stored.get(clientId)?.id ?? this.#ids.uuid();
      if (kind === 'removed' || kind === 'changed') this.#access.remove(clientId);
      if (client === undefined || kind === 'removed' || kind === 'unchanged') continue;
      const { clientSecret, clientName, scope, details = {} } = client;
      this.#stored.set(clientId, { id, clientId, clientSecret, clientName, scope });
      this.#storeDetails(clientId, details);
    }
    return success(counts);
  }

  /** The clients of an owner that are not in the plan. */
  async #others(owner: string): Promise<readonly { readonly clientId: string; readonly version: string }[]> {
    const found = await this.find([...this.#stored.keys()]);
    return found
      .filter(({ client, details }) => details.owner === owner && !this.#planned.has(client.clientId))
      .map(({ client, version }) => ({ clientId: client.clientId, version }));
  }

  async add(clients: readonly (NewClient | PlannedClient)[]): Promise<readonly RepeatedClient[]> {
    return clients.flatMap((client) => {
      const position = this.#count;
      this.#count += 1;
      const first = this.#given.get(client.clientId)?.position;
      if (first !== undefined) return [{ position, first }];
      this.#given.set(client.clientId, { client, position });
      if ('plan' in client) {
        const { version, changes } = client.plan;
        const kind = version === undefined ? 'added' : changes.length > 0 ? 'changed' : 'unchanged';
        this.#planned.set(client.clientId, { kind, version, changes });
      }
      return [];
    });
  }

  async save(
    file: ImportedFile | undefined,
    existing: ExistingClients,
  ): Promise<Result<ImportCounts, readonly number[]>> {
    const given = [...this.#given.values()];
    const taken = given.filter(({ client }) => this.#stored.has(client.clientId));
    if (existing === 'refuse' && taken.length > 0) return failure(taken.map(({ position }) => position));
    const next = given.map(({ client }) => this.#next(client));
    for (const { clientId, clientSecret } of next) {
      const isStored = this.#stored.has(clientId);
      this.#done[isStored ? 'replaced' : 'added'].push(clientId);
      if (isLocked(this.#stored.get(clientId)?.clientSecret ?? '') && isLocked(clientSecret))
        this.#done.locked.push(clientId);
    }
    const { added, replaced, locked } = this.#done;
    const counts = { added: added.length, replaced: replaced.length, locked: locked.length };
    if (file === undefined) return success(counts);
    const clients = given.map(({ client }): StoredEntry => {
      const { clientId } = client;
      return { clientId, action: replaced.includes(clientId) ? 'replaced' : 'added', changes: [], ...namesOf(client) };
    });
    this.#record({ kind: 'import', counts, file, clients: inOrder(clients) });
    for (const { details = {}, ...client } of next) {
      this.#stored.set(client.clientId, client);
      this.#storeDetails(client.clientId, details);
    }
    return success(counts);
  }

  async *ids(kind: keyof ImportCounts): AsyncGenerator<readonly string[]> {
    if (this.#done[kind].length > 0)
      yield this.#done[kind].toSorted((one, other) => Buffer.from(one).compare(Buffer.from(other)));
  }

  async close(): Promise<void> {
    this.#given.clear();
  }

  #next(client: NewClient): NewClient & ClientRegistrationFields {
    const stored = this.#stored.get(client.clientId);
    if (stored === undefined) return { ...client, id: this.#ids.uuid() };
    const clientSecret = replaceSecret(stored.clientSecret, client.clientSecret);
    return { ...client, id: stored.id, clientSecret };
  }
}

function inOrder(clients: readonly StoredEntry[]): readonly StoredEntry[] {
  return clients.toSorted((one, other) => Buffer.from(one.clientId).compare(Buffer.from(other.clientId)));
}

/** Of what the client gets, or of what changes. */
function namesOf(client: NewClient | undefined, changes: readonly string[] = []) {
  const { claims, owner } = client?.details ?? {};
  const isSet = (field: string, value: unknown) => (changes.length > 0 ? changes.includes(field) : value !== undefined);
  return {
    ...(isSet('claims', claims) && { claims: Object.keys(claims ?? {}) }),
    ...(owner && isSet('owner', owner) && { owner }),
  };
}
