import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ClientRow } from '../../application/client-lookup.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import {
  type ApplyOptions,
  type ClientChange,
  type ClientEdit,
  type ClientRange,
  type ClientStore,
  PLAN_CLIENTS_MAX,
  type PlannedClient,
  type ReadDetails,
  type StoredClient,
  type VersionedClient,
} from '../../application/ports/client-store.ts';
import { type ClientDetails, NO_DETAILS } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { documentIn } from '../../domain/details-document.ts';
import { parseJson } from '../../domain/parse-json.ts';
import type { Problem } from '../../domain/problem.ts';
import { thumbprintInput } from '../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import {
  type ClientValues,
  clientStatements,
  columnTexts,
  requireChanged,
  requireDetails,
} from './client-statements.ts';
import { partsOf } from './parts-of.ts';
import type { ClientsDatabase, SqlConnection } from './sql-database.ts';
import { endTransaction, withConnection } from './transaction.ts';

const PAGE_SIZE = 500;

/** Clients of one statement: it takes a small part of its deadline. */
const BATCH_SIZE = 1_000;

/** One client more than a plan can remove, so that it notices. */
const OWNED_MAX = PLAN_CLIENTS_MAX + 1;

type Statements = ReturnType<typeof clientStatements>;

/** The table `clients`, to manage it. Each change is one transaction that locks the row before it changes it. */
export class SqlClientStore implements ClientStore {
  readonly #database: ClientsDatabase;
  readonly #readDetails: ReadDetails;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;

  /** Connects at the first use. The table has to exist. */
  constructor(database: ClientsDatabase, readDetails: ReadDetails, recorder?: ChangeRecorder<ClientChange>) {
    this.#database = database;
    this.#readDetails = readDetails;
    this.#recorder = recorder;
  }

  async *list({ prefix, after, pageSize = PAGE_SIZE }: ClientRange): AsyncGenerator<readonly StoredClient[]> {
    const isBehind = after !== undefined && Buffer.compare(Buffer.from(after), Buffer.from(prefix)) >= 0;
    let [first, isExcluded] = isBehind ? [after, true] : [prefix, false];
    for (let size = pageSize; size === pageSize; isExcluded = true) {
      const from = [first, isExcluded, pageSize] as const;
      const rows = await this.#use((connection, { list }) => connection.query(list(...from)));
      // No text is behind all ids: the encoding of the database may lack it.
      const page = rows.filter(({ clientId }) => clientId.startsWith(prefix));
      size = page.length;
      first = page.at(-1)?.clientId ?? first;
      if (size > 0) yield page.map((record) => this.#read(record));
    }
  }

  find(clientId: string): Promise<StoredClient | undefined> {
    return this.#use(async (connection, { find }) => {
      const found = this.#one(await connection.query(find(clientId)), clientId);
      return found && unversioned(found);
    });
  }

  add(client: NewClient): Promise<StoredClient | undefined> {
    return this.#transaction(async (connection, { insert, find, hasDetails }, note) => {
      const [record] = await connection.query(insert(valuesOf(client, hasDetails)));
      if (record === undefined) {
        requireChanged((await connection.query(find(client.clientId))).length, 1);
        return undefined;
      }
      const after = this.#read(record);
      note({ after });
      return after;
    });
  }

  findAll(clientIds: readonly string[]): Promise<readonly VersionedClient[]> {
    return this.#use((connection, statements) => this.#findAll(connection, statements, clientIds));
  }

  ownedBy(owner: string): Promise<readonly VersionedClient[]> {
    return this.#use(async (connection, { ownedBy, hasDetails }) => {
      requireDetails(hasDetails, columnTexts({ owner }));
      const records = await connection.query(ownedBy(owner, OWNED_MAX));
      return records.map((record) => this.#readVersion(record));
    });
  }

  /**
   * The table is locked for other writers, and each row is compared with what the plan has found, before it is changed.
   * What stays as it is is only compared.
   */
  apply(
    planned: readonly PlannedClient[],
    { change, pruned, onCommit, prepare }: ApplyOptions,
  ): Promise<Result<void, 'plan_outdated'>> {
    return this.#use(async (connection, statements) => {
      await connection.begin('table');
      if (await this.#isOutdated(connection, statements, planned, pruned)) {
        await connection.end('rollback');
        return failure('plan_outdated');
      }
      const { remove, updateAll, insertAll, hasDetails } = statements;
      const added = planned.filter(({ plan }) => plan.action === 'added');
      const changed = planned.filter(({ plan }) => plan.changes.length > 0);
      const removed = planned.filter(({ plan }) => plan.action === 'removed');
      const write = (change: typeof updateAll | typeof insertAll) => (batch: readonly PlannedClient[]) =>
        connection.query(change(batch.map((client) => valuesOf(client, hasDetails))));
      const steps = [
        [removed, (batch: readonly PlannedClient[]) => connection.query(remove(batch.map(({ clientId }) => clientId)))],
        [changed, write(updateAll)],
        [added, write(insertAll)],
      ] as const;
      for (const [clients, run] of steps) {
        for (const batch of partsOf(clients, BATCH_SIZE)) requireChanged((await run(batch)).length, batch.length);
      }
      if (change !== undefined) await prepare?.();
      await endTransaction(connection, change, this.#recorder, onCommit);
      return success(undefined);
    });
  }

  change<Problem>(
    clientId: string,
    edit: (stored: VersionedClient) => Result<ClientEdit, Problem>,
    prepare?: () => Promise<void>,
  ): Promise<Result<StoredClient, Problem | 'client_unknown' | 'details_unreadable'>> {
    return this.#transaction<Result<StoredClient, Problem | 'client_unknown' | 'details_unreadable'>>(
      async (connection, { findAndLock, update, hasDetails }, note) => {
        const found = this.#one(await connection.query(findAndLock(clientId)), clientId);
        if (found === undefined) return failure('client_unknown');
        const before = unversioned(found);
        const edited = edit(found);
        if (!edited.ok) return edited;
        const { details: given, ...fields } = edited.value;
        if (given !== undefined && before.problem !== undefined) return failure('details_unreadable');
        const { details, keyIds } = given === undefined ? before : { details: given, keyIds: keyIdsOf(given) };
        const after = { ...before, ...fields, details, keyIds };
        if (isDeepStrictEqual(before, after)) return success(after);
        const { client_id: _, credentials, details: document, ...columns } = valuesOf(after, hasDetails);
        const isWritten = hasDetails && given !== undefined;
        const values = { ...columns, ...(isWritten && { credentials, details: document }) };
        requireChanged((await connection.query(update(clientId, values))).length, 1);
        await prepare?.();
        note({ before, after });
        return success(after);
      },
    );
  }

  remove(
    clientId: string,
    prepare?: () => Promise<void>,
    mayRemove: (stored: VersionedClient) => boolean = () => true,
  ): Promise<StoredClient | undefined> {
    return this.#transaction(async (connection, { findAndLock, remove }, note) => {
      const found = this.#one(await connection.query(findAndLock(clientId)), clientId);
      if (found === undefined || !mayRemove(found)) return undefined;
      const before = unversioned(found);
      requireChanged((await connection.query(remove([clientId]))).length, 1);
      await prepare?.();
      note({ before });
      return before;
    });
  }

  /** What keeps this role from changing clients; undefined if nothing does, or nobody knows yet. Changes nothing. */
  async refusal(): Promise<Problem | undefined> {
    try {
      return await this.#use(async (connection) => {
        await connection.begin('rows');
        await connection.end('rollback');
        return undefined;
      });
    } catch (fault) {
      return this.#database.refusalIn(fault);
    }
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  /** The collation of another application may ignore case. */
  #one(records: readonly ClientRow[], clientId: string): VersionedClient | undefined {
    const record = records.find((found) => found.clientId === clientId);
    return record && this.#readVersion(record);
  }

  async #findAll(
    connection: SqlConnection,
    { findAll }: Statements,
    clientIds: readonly string[],
  ): Promise<readonly VersionedClient[]> {
    const found: VersionedClient[] = [];
    for (const ids of partsOf(clientIds, BATCH_SIZE)) {
      const asked = new Set(ids);
      const records = await connection.query(findAll(ids));
      found.push(...records.filter(({ clientId }) => asked.has(clientId)).map((record) => this.#readVersion(record)));
    }
    return found;
  }

  async #isOutdated(
    connection: SqlConnection,
    statements: Statements,
    planned: readonly PlannedClient[],
    pruned: string | undefined,
  ): Promise<boolean> {
    const versions = new Map<string, string>();
    const ids = planned.map(({ clientId }) => clientId);
    for (const { clientId, version } of await this.#findAll(connection, statements, ids))
      versions.set(clientId, version);
    if (planned.some(({ clientId, plan }) => versions.get(clientId) !== plan.version)) return true;
    if (pruned === undefined) return false;
    const known = new Set(ids);
    const owned = await connection.query(statements.ownedBy(pruned, OWNED_MAX));
    return owned.some(({ clientId }) => !known.has(clientId));
  }

  #readVersion(record: ClientRow): VersionedClient {
    const { clientSecret, clientName, scope, credentials, details } = record;
    const columns = [clientSecret, clientName, scope, credentials, details];
    const version = hash('sha256', JSON.stringify(columns), 'base64url');
    return { ...this.#read(record), version };
  }

  #read({ credentials, details: stored, ...client }: ClientRow): StoredClient {
    const document = documentIn(parseJson(credentials), parseJson(stored));
    const read = document.ok ? this.#readDetails(document.value) : failure([document.problem]);
    const details = { ...NO_DETAILS, ...(read.ok && read.value) };
    const problem = read.ok ? {} : { problem: `details: ${read.problem.join('; ')}` };
    return { ...client, details, keyIds: keyIdsOf(details), ...problem };
  }

  /** @param work calls `note` with the client that it has changed, or not at all if nothing is to be kept. */
  #transaction<Outcome>(
    work: (
      connection: SqlConnection,
      statements: Statements,
      note: (changed: Omit<ClientChange & { kind: 'client' }, 'kind'>) => void,
    ) => Promise<Outcome>,
  ): Promise<Outcome> {
    return this.#use(async (connection, statements) => {
      await connection.begin('rows');
      let change: ClientChange | undefined;
      const outcome = await work(connection, statements, (changed) => {
        change = { kind: 'client', ...changed };
      });
      await endTransaction(connection, change, this.#recorder);
      return outcome;
    });
  }

  #use<Outcome>(work: (connection: SqlConnection, statements: Statements) => Promise<Outcome>): Promise<Outcome> {
    return withConnection(this.#database, async (connection) => {
      const hasDetails = await this.#database.hasDetails(connection);
      return work(connection, clientStatements(this.#database, hasDetails));
    });
  }
}

function unversioned({ version: _version, ...stored }: VersionedClient): StoredClient {
  return stored;
}

function valuesOf(
  { clientId, clientSecret, clientName, scope, details = {} }: NewClient,
  hasDetails: boolean,
): ClientValues {
  const texts = columnTexts(details);
  requireDetails(hasDetails, texts);
  return { client_id: clientId, client_secret: clientSecret, client_name: clientName, scope, ...texts };
}

function keyIdsOf({ jwks }: ClientDetails): readonly string[] {
  return jwks.keys.map((key) => hash('sha256', thumbprintInput(key), 'base64url'));
}
