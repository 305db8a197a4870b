import type { ClientDetails } from '../../domain/client-details.ts';
import type { ClientColumns, NewClient } from '../../domain/client-registration.ts';
import type { Result } from '../../domain/result.ts';

/** The most bytes of an entry of a clients file. */
export const ENTRY_BYTES_MAX = 1_048_576;

/** The most bytes of a clients file, read as a whole. The library for YAML takes 100 MB for each MB of text. */
export const FILE_BYTES_MAX = { json: 67_108_864, yaml: 1_048_576 } as const;

/** The most clients of one run, which are planned in memory. */
export const PLAN_CLIENTS_MAX = 50_000;

/** How long a plan waits for another one, in milliseconds: as long as the most clients take, and some more. */
export const PLAN_WAIT_MS = 60_000;

/** Which clients to list. */
export interface ClientRange {
  /** Only ids that begin with this text; all if it is empty. */
  readonly prefix: string;
  /** Only ids behind this one, byte by byte. */
  readonly after?: string | undefined;
  /** The most clients of a page; by default as many as a program reads at once. */
  readonly pageSize?: number;
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

/** What can happen to a client. An import replaces what it finds; `locked`: that was locked, and still is. */
export type PlannedAction = 'added' | 'changed' | 'replaced' | 'locked' | 'unchanged' | 'removed';

/** What a plan does to a client: it gets exactly these fields and details, unless it stays as it is, or is removed. */
export interface PlannedClient extends NewClient {
  readonly plan: {
    readonly action: PlannedAction;
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

/** How a plan is stored. */
export interface ApplyOptions {
  /** What is recorded; undefined for a rehearsal, which stores nothing, and fails as the storage would. */
  readonly change: PlanChange | undefined;
  /** Whose other clients the plan removes. */
  readonly pruned: string | undefined;
  /** Called before the commit: after a fault, nothing is stored if it was not called, and otherwise nobody knows. */
  readonly onCommit: (() => void) | undefined;
  readonly prepare?: Prepare | undefined;
}

/** What has to be done elsewhere before a change is stored. Where it throws, nothing is stored. */
type Prepare = () => Promise<void>;

/** A client as it is stored, with whole texts; its secret is locked if it is disabled. */
export interface StoredClient extends ClientColumns {
  readonly details: ClientDetails;
  /** The SHA-256 thumbprints of its keys (RFC 7638), in their order. */
  readonly keyIds: readonly string[];
  /** What is wrong with the document of its details, which then has none here. */
  readonly problem?: string;
}

/** Reads the document of details, or says what is wrong with it; never with a value. */
export type ReadDetails = (document: unknown) => Result<Partial<ClientDetails>, readonly string[]>;

/**
 * What one transaction changed: a client before and after it, or those of a plan. A new client has no `before`, a
 * removed one no `after`.
 */
export type ClientChange =
  | { readonly kind: 'client'; readonly before?: StoredClient; readonly after?: StoredClient }
  | { readonly kind: 'tokens'; readonly clientId: string }
  | PlanChange;

/** Where a plan comes from. */
export interface PlanSource {
  readonly kind: 'import' | 'apply';
  readonly file: ClientsFile;
}

/** What a plan has done, with all clients that it has changed. */
export interface PlanChange extends PlanSource {
  readonly counts: PlanCounts;
  readonly clients: readonly PlanEntry[];
}

/** The fields that a change replaces. */
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
 * The stored clients, for programs that manage them. Clients come as they are stored, whatever rule they break. An id
 * means exactly this id: case, accents and spaces count.
 *
 * Each method is atomic: of two that run at the same time, one sees what the other has done. None is repeated after a
 * fault, since it may have been done. All throw ValueRefused, and DependencyUnavailable if the storage cannot be used,
 * also if it has no place for the details that are to be stored.
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

  /** The stored ones of these ids, in any order. */
  findAll(clientIds: readonly string[]): Promise<readonly VersionedClient[]>;

  /** The clients of an owner, in any order. Reads the whole table. */
  ownedBy(owner: string): Promise<readonly VersionedClient[]>;

  /**
   * Stores what was planned, all or nothing. Fails with `plan_outdated` if a client of the plan is not stored as the
   * plan found it, or, of the owner whose clients were pruned, one that the plan does not have. Of several at the same
   * time, each waits for the one before.
   */
  apply(planned: readonly PlannedClient[], options: ApplyOptions): Promise<Result<void, 'plan_outdated'>>;

  /** Replaces what `edit` returns. Changes nothing if it fails, or would replace details that cannot be read. */
  change<Problem>(
    clientId: string,
    edit: (stored: VersionedClient) => Result<ClientEdit, Problem>,
    prepare?: Prepare,
  ): Promise<Result<StoredClient, Problem | 'client_unknown' | 'details_unreadable'>>;

  /** Deletes the client, unless `mayRemove` says no, and returns what was deleted. */
  remove(
    clientId: string,
    prepare?: Prepare,
    mayRemove?: (stored: VersionedClient) => boolean,
  ): Promise<StoredClient | undefined>;
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
