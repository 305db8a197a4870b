import type {
  ClientPlan,
  PlanChange,
  PlanCounts,
  PlanEntry,
  PlannedAction,
  PlannedClient,
  PlanSource,
  RepeatedClient,
  StoredClient,
  VersionedClient,
} from '../../application/ports/client-store.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** What a plan needs of the store. */
export interface PlanAccess {
  readonly stored: ReadonlyMap<string, StoredClient>;
  /** Called before anything is stored. */
  record(change: PlanChange): void;
  store(client: PlannedClient): void;
  remove(clientId: string): void;
}

interface Planned extends PlanEntry {
  readonly version: string | undefined;
  readonly position: number;
  /** Absent if it is to be removed. */
  readonly client?: PlannedClient;
}

const NONE: PlanCounts = { added: 0, changed: 0, replaced: 0, locked: 0, unchanged: 0, removed: 0 };

/** A plan for a map of clients by their ids. */
export class InMemoryClientPlan implements ClientPlan {
  readonly #access: PlanAccess;
  readonly #planned = new Map<string, Planned>();
  #count = 0;

  constructor(access: PlanAccess) {
    this.#access = access;
  }

  async add(clients: readonly PlannedClient[]): Promise<readonly RepeatedClient[]> {
    return clients.flatMap((client) => {
      const { clientId, plan } = client;
      const position = this.#count;
      this.#count += 1;
      const first = this.#planned.get(clientId)?.position;
      if (first !== undefined) return [{ position, first }];
      this.#planned.set(clientId, { clientId, ...plan, ...namesOf(client), position, client });
      return [];
    });
  }

  async find(clientIds: readonly string[]): Promise<readonly VersionedClient[]> {
    return this.#find(clientIds);
  }

  #find(clientIds: Iterable<string>): readonly VersionedClient[] {
    return [...clientIds].flatMap((clientId) => {
      const found = this.#access.stored.get(clientId);
      return found === undefined ? [] : [{ ...found, version: JSON.stringify(found) }];
    });
  }

  async prune(owner: string): Promise<void> {
    for (const { clientId, version } of this.#others(owner)) {
      this.#planned.set(clientId, { clientId, action: 'removed', version, changes: [], position: this.#count });
    }
  }

  async count(): Promise<PlanCounts> {
    return this.#counts();
  }

  #counts(): PlanCounts {
    const counts = { ...NONE };
    for (const { action } of this.#planned.values()) counts[action] += 1;
    return counts;
  }

  async *entries(...actions: readonly PlannedAction[]): AsyncGenerator<readonly PlanEntry[]> {
    const page = this.#entries(actions);
    if (page.length > 0) yield page;
  }

  #entries(actions: readonly PlannedAction[]): readonly PlanEntry[] {
    return [...this.#planned.values()]
      .filter(({ action }) => actions.includes(action))
      .map(({ version: _version, position: _position, client: _client, ...entry }) => entry)
      .sort((one, other) => Buffer.from(one.clientId).compare(Buffer.from(other.clientId)));
  }

  /** Nothing else runs meanwhile. */
  async apply(source: PlanSource, pruned?: string): Promise<Result<PlanCounts, 'plan_outdated'>> {
    const versions = new Map(this.#find(this.#planned.keys()).map(({ clientId, version }) => [clientId, version]));
    const isOutdated = [...this.#planned.values()].some(({ clientId, version }) => versions.get(clientId) !== version);
    if (isOutdated || (pruned !== undefined && this.#others(pruned).length > 0)) return failure('plan_outdated');
    const counts = this.#counts();
    const clients = this.#entries(['added', 'changed', 'replaced', 'locked', 'removed']);
    this.#access.record({ ...source, counts, clients });
    for (const { clientId, action, changes, client } of this.#planned.values()) {
      if (action === 'removed') this.#access.remove(clientId);
      if (client !== undefined && (action === 'added' || changes.length > 0)) this.#access.store(client);
    }
    return success(counts);
  }

  async close(): Promise<void> {
    this.#planned.clear();
  }

  /** The clients of an owner that are not in the plan. */
  #others(owner: string): readonly VersionedClient[] {
    const found = this.#find(this.#access.stored.keys());
    return found.filter(({ clientId, details }) => details.owner === owner && !this.#planned.has(clientId));
  }
}

/** Of what changes. */
function namesOf({ details: { claims, owner } = {}, plan: { action, changes } }: PlannedClient) {
  const isSet = (field: string, value: unknown) => (action === 'added' ? value !== undefined : changes.includes(field));
  return {
    ...(isSet('claims', claims) && { claims: Object.keys(claims ?? {}) }),
    ...(owner && isSet('owner', owner) && { owner }),
  };
}
