import type { ClientDetails, ClientKey } from '../../domain/client-details.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
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

/** A client whose id an earlier client of the same import has. Positions count from 0, in the order of adding. */
export interface RepeatedClient {
  readonly position: number;
  readonly first: number;
}

/** The file that an import was read from. */
export interface ImportedFile {
  /** Its name without the folders. */
  readonly name: string;
  /** Of all its bytes, as they were read: 64 hexadecimal digits. */
  readonly sha256: string;
}

/** How many clients an import has stored. */
export interface ImportCounts {
  readonly added: number;
  readonly replaced: number;
  /** The replaced ones that were locked, and still are. */
  readonly locked: number;
}

/** A stored client, and the state of its row, which changes with everything that is stored of it. Only compared. */
export interface VersionedClient extends StoredClient {
  readonly version: string;
}

/** What a plan does to a client. */
export interface PlannedClient extends NewClient {
  readonly plan: {
    /** That of the client as the plan found it; undefined if there was none. */
    readonly version: string | undefined;
    /** The fields that change; none if the client stays as it is. */
    readonly changes: readonly string[];
  };
}

/** How many clients a plan adds, changes, removes and leaves alone. */
export interface PlanCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** A client of a plan, and the fields that change. */
export interface PlanEntry {
  readonly clientId: string;
  readonly changes: readonly string[];
}

/** What was done to a client of a file, and the names of what it got: undefined if the file does not change that. */
export interface StoredEntry extends PlanEntry {
  readonly action: 'added' | 'changed' | 'replaced' | 'removed';
  readonly claims?: readonly string[];
  readonly owner?: string;
}

/**
 * Clients to store, all or none, of any number. They are invisible to everybody else until `save`. Costs this process no
 * memory for the clients that were added.
 */
export interface ClientImport {
  /** Adds a batch of clients. Those whose id was added before are not added again, and are returned. */
  add(clients: readonly (NewClient | PlannedClient)[]): Promise<readonly RepeatedClient[]>;

  /** The stored ones of these ids, in any order. */
  find(clientIds: readonly string[]): Promise<readonly VersionedClient[]>;

  /** Plans to remove the clients of an owner that were not added. */
  prune(owner: string): Promise<void>;

  /** What the clients that were added with a plan, and the pruned ones, come to. */
  countPlan(): Promise<PlanCounts>;

  /** The clients of the plan in order of their ids, byte by byte. */
  plan(kind: keyof PlanCounts): AsyncIterable<readonly PlanEntry[]>;

  /**
   * Does what was planned: a client gets exactly the given fields and details. Stores nothing and returns `plan_outdated` if a
   * stored client of the plan is not as it was found, or a client of the owner is there that was neither added nor pruned.
   *
   * @param onCommit called before the commit: after a fault, nothing is stored if it was not called, and otherwise nobody knows.
   */
  apply(
    file: ImportedFile,
    pruned: string | undefined,
    onCommit?: () => void,
  ): Promise<Result<PlanCounts, 'plan_outdated'>>;

  /**
   * Stores all clients that were added with their details, or none. `replace` gives clients that are stored already the given
   * secret, name and scope, and the kinds of details that are given; a locked one stays locked. `refuse` stores nothing if an
   * id is taken, and returns the positions of such clients, in ascending order: at least one, and not all of them if there are
   * many. Of several imports that are saved at the same time, each waits for the one before.
   *
   * @param file is recorded with the change. Undefined for a rehearsal: everything is tried, and nothing stored; it has no `ids`.
   */
  save(file: ImportedFile | undefined, existing: ExistingClients): Promise<Result<ImportCounts, readonly number[]>>;

  /** The client ids of what `save` did, in order, byte by byte. `locked` ones are among the `replaced` ones. */
  ids(kind: keyof ImportCounts): AsyncIterable<readonly string[]>;

  /** Forgets what was added and not saved. */
  close(): Promise<void>;
}

/** A client as it is stored, with whole texts. */
export interface StoredClient {
  readonly client: ClientRegistrationFields;
  readonly details: StoredDetails;
  /** What is wrong with the document of its details, which then has none here. */
  readonly problem?: string;
}

/** Reads the document of details, or says what is wrong with it; never with a value. */
export type ReadDetails = (document: unknown) => Result<Partial<ClientDetails>, readonly string[]>;

/** What one transaction changed: a client before and after it, or those of a file. A new client has no `before`, a removed one no `after`. */
export type ClientChange =
  | { readonly kind: 'client'; readonly before?: StoredClient; readonly after?: StoredClient }
  | (FileChange & { readonly clients: readonly StoredEntry[] });

/** An import, or a plan. Its clients are recorded in several parts if they are many. */
export type FileChange = { readonly file: ImportedFile } & (
  | { readonly kind: 'import'; readonly counts: ImportCounts }
  | { readonly kind: 'apply'; readonly counts: PlanCounts }
);

/** What an import does if a client is stored already. */
export type ExistingClients = 'refuse' | 'replace';

/** A key as it is stored. */
export interface StoredKey extends ClientKey {
  /** Its SHA-256 thumbprint (RFC 7638). */
  readonly key_id: string;
}

/** The details of a client as they are stored. */
export interface StoredDetails extends ClientDetails {
  readonly keys: readonly StoredKey[];
}

type ChangeableFields = Pick<ClientRegistrationFields, 'clientSecret' | 'clientName' | 'scope'>;

/** What a change of a client sees: whole texts, and the secret without an id, locked if the client is disabled. */
export interface ChangeableClient extends ChangeableFields {
  readonly details: StoredDetails;
}

/** The fields that a change replaces. Keys need no id: the store computes it. */
export type ClientEdit = Partial<ChangeableFields & { readonly details: ClientDetails }>;

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
 * A store that has a ChangeRecorder calls it for each change of a client, and for each import.
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

  /** Starts an import. A store has at most one at a time. */
  startImport(): Promise<ClientImport>;

  /** Replaces what `edit` returns, or changes nothing if it fails, and if it would replace details that cannot be read. */
  change<Problem>(
    clientId: string,
    edit: (stored: ChangeableClient) => Result<ClientEdit, Problem>,
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
