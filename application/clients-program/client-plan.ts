import type { NewClient } from '../../domain/client-registration.ts';
import type { Result } from '../../domain/result.ts';
import { isLocked } from '../../domain/stored-secret.ts';
import type {
  ClientStore,
  PlanCounts,
  PlanEntry,
  PlannedAction,
  PlannedClient,
  PlanSource,
  VersionedClient,
} from '../ports/client-store.ts';

/** A client whose id an earlier client of the same plan has. Positions count from 0, in the order of adding. */
interface RepeatedClient {
  readonly clientId: string;
  readonly position: number;
  readonly first: number;
}

const NONE: PlanCounts = { added: 0, changed: 0, replaced: 0, locked: 0, unchanged: 0, removed: 0 };

/** What is to be done to clients, all or nothing. Nobody else sees it until `apply`. */
export class ClientPlan {
  readonly #store: ClientStore;
  readonly #planned = new Map<string, PlannedClient & { readonly position: number }>();
  #positions = 0;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  get size(): number {
    return this.#planned.size;
  }

  /**
   * Adds a batch of clients, but none whose id was added before: those are returned. A client that is left out,
   * `undefined`, has a position.
   */
  add(clients: readonly (PlannedClient | undefined)[]): readonly RepeatedClient[] {
    const repeated: RepeatedClient[] = [];
    for (const client of clients) {
      const position = this.#positions;
      this.#positions += 1;
      if (client === undefined) continue;
      const { clientId } = client;
      const earlier = this.#planned.get(clientId);
      if (earlier === undefined) this.#planned.set(clientId, { ...withoutWhatStays(client), position });
      else repeated.push({ clientId, position, first: earlier.position });
    }
    return repeated;
  }

  /** Plans to remove the clients of an owner that were not added. */
  async prune(owner: string): Promise<void> {
    const others = (await this.#store.ownedBy(owner)).filter(({ clientId }) => !this.#planned.has(clientId));
    this.add(others.map(removalOf));
  }

  get counts(): PlanCounts {
    const counts = { ...NONE };
    for (const { plan } of this.#planned.values()) counts[plan.action] += 1;
    return counts;
  }

  /** The clients that are removed, and those that are changed and disabled then. */
  get ended(): readonly string[] {
    const clients = [...this.#planned.values()];
    const isEnded = ({ clientSecret, plan: { action, changes } }: PlannedClient) =>
      action === 'removed' || (changes.length > 0 && isLocked(clientSecret));
    return clients.filter(isEnded).map(({ clientId }) => clientId);
  }

  /** The clients that something of this happens to, in order of their ids, byte by byte. */
  entries(...actions: readonly PlannedAction[]): readonly PlanEntry[] {
    return [...this.#planned.values()]
      .filter(({ plan }) => actions.includes(plan.action))
      .map(entryOf)
      .sort((one, other) => Buffer.compare(Buffer.from(one.clientId), Buffer.from(other.clientId)));
  }

  /**
   * Does what was planned. Stores nothing and returns `plan_outdated` if a stored client of the plan is not as it was
   * found, or a client of the owner is there that was neither added nor pruned.
   *
   * @param source undefined for a rehearsal, which stores nothing, and fails as the storage would.
   * @param prepare for the clients that are disabled or removed.
   * @param onCommit called before the commit: after a fault, nothing is stored if it was not called, and otherwise
   * nobody knows.
   */
  async apply(
    source: PlanSource | undefined,
    pruned?: string,
    onCommit?: () => void,
    prepare?: () => Promise<void>,
  ): Promise<Result<PlanCounts, 'plan_outdated'>> {
    const { counts } = this;
    const clients = this.entries('added', 'changed', 'replaced', 'locked', 'removed');
    const change = source && { ...source, counts, clients };
    const applied = await this.#store.apply([...this.#planned.values()], { change, pruned, onCommit, prepare });
    return applied.ok ? { ok: true, value: counts } : applied;
  }
}

/** A client that stays as it is takes little memory. */
function withoutWhatStays(client: PlannedClient): PlannedClient {
  const { clientId, plan } = client;
  return plan.action === 'added' || plan.changes.length > 0 ? client : { ...NO_FIELDS, clientId, plan };
}

const NO_FIELDS = { clientSecret: '', clientName: '', scope: '' };

function removalOf({ clientId, version }: VersionedClient): PlannedClient {
  return { ...NO_FIELDS, clientId, plan: { action: 'removed', version, changes: [] } };
}

function entryOf({ clientId, details = {}, plan: { action, changes } }: NewClient & PlannedClient): PlanEntry {
  const isSet = (field: 'claims' | 'owner') => (action === 'added' ? Boolean(details[field]) : changes.includes(field));
  return {
    clientId,
    action,
    changes,
    ...(isSet('claims') && { claims: Object.keys(details.claims ?? {}) }),
    ...(isSet('owner') && details.owner && { owner: details.owner }),
  };
}
