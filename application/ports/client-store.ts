import type { ClientDetails, ClientKey } from '../../domain/client-details.ts';
import type { ClientColumns, NewClient } from '../../domain/client-registration.ts';
import type { Result } from '../../domain/result.ts';

/** The most bytes of an entry of a clients file. It bounds the memory of an import. */
export const ENTRY_BYTES_MAX = 1_048_576;

/** Which clients to list. */
export interface ClientRange {
  /** Only ids that begin with this text; all if it is empty. */
  readonly prefix: string;
  /** Only ids behind this one, byte by byte. */
  readonly after?: string | undefined;
}

/** A client whose id an earlier client of the same plan has. Positions count from 0, in the order of adding. */
export interface RepeatedClient {
  readonly clientId: string;
  readonly position: number;
  readonly first: number;
}

/** The file, or the folder, whose clients are planned. */
export interface ClientsFile {
  /** Its name without the folders. */
  readonly name: string;
  /** Of all its bytes, as they were read: 64 hexadecimal digits. */
  readonly sha256: string;
}

/** A stored client, and the state of its row, which changes with everything that is stored of it. Only compared. */
export interface VersionedClient extends StoredClient {
  readonly version: string;
}

/** What can happen to a client. An import replaces what it finds; `locked` is one of these that was locked, and still is. */
export type PlannedAction = 'added' | 'changed' | 'replaced' | 'locked' | 'unchanged' | 'removed';

/** What a plan does to a client: it gets exactly these fields and details. */
export interface PlannedClient extends NewClient {
  readonly plan: {
    readonly action: Exclude<PlannedAction, 'removed'>;
    /** That of the client as the plan found it; undefined if there was none. */
    readonly version: string | undefined;
    /** The fields that change; none if the client is new, or stays as it is. */
    readonly changes: readonly string[];
  };
}

/** How many clients a plan does what to. */
export type PlanCounts = Readonly<Record<PlannedAction, number>>;

/** A client of a plan, and the fields that change; the names of its claims and its owner, if they change. */
export interface PlanEntry {
  readonly clientId: string;
  readonly action: PlannedAction;
  readonly changes: readonly string[];
  readonly claims?: readonly string[];
  readonly owner?: string;
}

/**
 * What is to be done to clients, all or nothing, of any number. It is invisible to everybody else until `apply`. Costs this
 * process no memory for the clients that were added.
 */
export interface ClientPlan {
  /** Adds a batch of clients. Those whose id was added before are not added again, and are returned. A client that is left out, `undefined`, has a position. */
  add(clients: readonly (PlannedClient | undefined)[]): Promise<readonly RepeatedClient[]>;

  /** The stored ones of these ids, in any order. */
  find(clientIds: readonly string[]): Promise<readonly VersionedClient[]>;

  /** Plans to remove the clients of an owner that were not added. */
  prune(owner: string): Promise<void>;

  count(): Promise<PlanCounts>;

  /** The clients that something of this happens to, in order of their ids, byte by byte; also after `apply`. */
  entries(...actions: readonly PlannedAction[]): AsyncIterable<readonly PlanEntry[]>;

  /**
   * Does what was planned. Stores nothing and returns `plan_outdated` if a stored client of the plan is not as it was found, or
   * a client of the owner is there that was neither added nor pruned. Of several plans, each waits for the one before.
   *
   * @param source undefined for a rehearsal, which stores nothing, and fails as the storage would.
   * @param onCommit called before the commit: after a fault, nothing is stored if it was not called, and otherwise nobody knows.
   */
  apply(
    source: PlanSource | undefined,
    pruned?: string,
    onCommit?: () => void,
  ): Promise<Result<PlanCounts, 'plan_outdated'>>;

  /** Forgets what was added and not applied. */
  close(): Promise<void>;
}

/** A client as it is stored, with whole texts; its secret is locked if it is disabled. */
export interface StoredClient extends ClientColumns {
  readonly details: StoredDetails;
  /** What is wrong with the document of its details, which then has none here. */
  readonly problem?: string;
}

/** Reads the document of details, or says what is wrong with it; never with a value. */
export type ReadDetails = (document: unknown) => Result<Partial<ClientDetails>, readonly string[]>;

/** What one transaction changed: a client before and after it, or those of a plan. A new client has no `before`, a removed one no `after`. */
export type ClientChange =
  | { readonly kind: 'client'; readonly before?: StoredClient; readonly after?: StoredClient }
  | PlanChange;

/** Where a plan comes from. */
export interface PlanSource {
  readonly kind: 'import' | 'apply';
  readonly file: ClientsFile;
}

/** What a plan has done. Its clients are recorded in several parts if they are many. */
export interface PlanChange extends PlanSource {
  readonly counts: PlanCounts;
  readonly clients: readonly PlanEntry[];
}

/** A key as it is stored. */
export interface StoredKey extends ClientKey {
  /** Its SHA-256 thumbprint (RFC 7638). */
  readonly key_id: string;
}

/** The details of a client as they are stored. */
export interface StoredDetails extends ClientDetails {
  readonly keys: readonly StoredKey[];
}

/** The fields that a change replaces. Keys need no id: the store computes it. */
export type ClientEdit = Partial<
  Pick<ClientColumns, 'clientSecret' | 'clientName' | 'scope'> & { readonly details: ClientDetails }
>;

/** The fault of a value that breaks a rule of the storage's own, such as a constraint. Nothing was changed. */
export class ValueRefused extends Error {
  /** @param cause names the rule, and never quotes the value. */
  constructor(cause: unknown) {
    super('the client store refuses a value', { cause });
    this.name = 'ValueRefused';
  }
}

/**
 * The stored clients, for programs that manage them. Clients come as they are stored, whatever rule they break. An id means
 * exactly this id: case, accents and spaces count.
 *
 * Each method is atomic: of two that run at the same time, one sees what the other has done. None is repeated after a
 * fault, since it may have been done. All throw ValueRefused, and DependencyUnavailable if the storage cannot be used, also if it has
 * no place for the details that are to be stored.
 *
 * A store that has a ChangeRecorder calls it for each change of a client, and for each plan.
 */
export interface ClientStore {
  /**
   * The clients of a range in pages, ordered by client id, byte by byte. Each page shows the storage as it is when that
   * page is read, and nothing is held between two pages. Costs one look-up by an index for each page.
   */
  list(range: ClientRange): AsyncIterable<readonly StoredClient[]>;

  /** Costs a look-up by an index, as do the changes below. */
  find(clientId: string): Promise<StoredClient | undefined>;

  /** Stores this client with its details and returns it, or returns undefined if its id is taken. */
  add(client: NewClient): Promise<StoredClient | undefined>;

  /** Starts a plan. A store has at most one at a time. */
  startPlan(): Promise<ClientPlan>;

  /** Replaces what `edit` returns, or changes nothing if it fails, and if it would replace details that cannot be read. */
  change<Problem>(
    clientId: string,
    edit: (stored: StoredClient) => Result<ClientEdit, Problem>,
  ): Promise<Result<StoredClient, Problem | 'client_unknown' | 'details_unreadable'>>;

  /** Deletes the client and returns what was deleted. */
  remove(clientId: string): Promise<StoredClient | undefined>;
}

/** What is wrong with the entry at a position, counted from 0, or with the whole input. Never quotes a value. */
export interface ImportProblem {
  readonly position?: number;
  readonly text: string;
  /** The position of another entry, with which the text ends. */
  readonly other?: number;
}

/** A client of a file, with a secret that is `{noop}`, a BCrypt encoding or none. */
export interface FileClient extends NewClient {
  /** The path of the new file that gets its secret, if the client has none yet. */
  readonly generateTo?: string;
}

/** A valid registration, or what is wrong with the entry. */
export type ImportEntry = Result<FileClient, readonly ImportProblem[]>;
