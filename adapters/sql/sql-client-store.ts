import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ClientRow } from '../../application/client-lookup.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type {
  ClientChange,
  ClientEdit,
  ClientPlan,
  ClientRange,
  ClientStore,
  ReadDetails,
  StoredClient,
  StoredDetails,
} from '../../application/ports/client-store.ts';
import { type ClientDetails, NO_DETAILS } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { thumbprintInput } from '../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { clientStatements, documentText, requireChanged, requireDetails } from './client-statements.ts';
import { SqlClientPlan } from './sql-client-plan.ts';
import type { SqlConnection, SqlDatabase } from './sql-database.ts';
import { endTransaction, withConnection } from './transaction.ts';

const PAGE_SIZE = 500;

/** The table `clients`, to manage it. Each change is one transaction that locks the row before it changes it. */
export class SqlClientStore implements ClientStore {
  readonly #database: SqlDatabase;
  readonly #readDetails: ReadDetails;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;
  #plan: ClientPlan | undefined;

  /** Connects at the first use. The table has to exist. */
  constructor(database: SqlDatabase, readDetails: ReadDetails, recorder?: ChangeRecorder<ClientChange>) {
    this.#database = database;
    this.#readDetails = readDetails;
    this.#recorder = recorder;
  }

  async *list({ prefix, after }: ClientRange): AsyncGenerator<readonly StoredClient[]> {
    const isBehind = after !== undefined && Buffer.compare(Buffer.from(after), Buffer.from(prefix)) >= 0;
    let [first, isExcluded] = isBehind ? [after, true] : [prefix, false];
    for (let size = PAGE_SIZE; size === PAGE_SIZE; isExcluded = true) {
      const rows = await this.#use((connection, { list }) =>
        connection.query<ClientRow>(isExcluded ? list.behind : list.from, [first, PAGE_SIZE]),
      );
      // No text is behind all ids: the encoding of the database may lack it.
      const page = rows.filter(({ clientId }) => clientId.startsWith(prefix));
      size = page.length;
      first = page.at(-1)?.clientId ?? first;
      if (size > 0) yield page.map((record) => this.#read(record));
    }
  }

  find(clientId: string): Promise<StoredClient | undefined> {
    return this.#use((connection, { find }) => this.#find(connection, find, clientId));
  }

  add({ details = {}, ...client }: NewClient): Promise<StoredClient | undefined> {
    const document = documentText(details);
    return this.#transaction(async (connection, { insert, find, hasDetails }, note) => {
      requireDetails(hasDetails, document);
      const { clientId, clientSecret, clientName, scope } = client;
      const values = [clientId, clientSecret, clientName, scope, ...(hasDetails ? [document] : [])];
      const [record] = await connection.query<ClientRow>(insert, values);
      if (record === undefined) {
        requireChanged((await connection.query(find, [clientId])).length, 1);
        return undefined;
      }
      const after = this.#read(record);
      note({ after });
      return after;
    });
  }

  async startPlan(): Promise<ClientPlan> {
    await this.#plan?.close();
    const database = this.#database;
    try {
      const connection = await database.connect();
      const hasDetails = await database.hasDetails(connection);
      const read = (record: ClientRow) => this.#read(record);
      this.#plan = await SqlClientPlan.start({ database, connection, hasDetails, read, recorder: this.#recorder });
      return this.#plan;
    } catch (fault) {
      throw database.faultOf(fault);
    }
  }

  change<Problem>(
    clientId: string,
    edit: (stored: StoredClient) => Result<ClientEdit, Problem>,
  ): Promise<Result<StoredClient, Problem | 'client_unknown' | 'details_unreadable'>> {
    return this.#transaction<Result<StoredClient, Problem | 'client_unknown' | 'details_unreadable'>>(
      async (connection, { findAndLock, update, hasDetails }, note) => {
        const before = await this.#find(connection, findAndLock, clientId);
        if (before === undefined) return failure('client_unknown');
        const edited = edit(before);
        if (!edited.ok) return edited;
        const { details: given, ...fields } = edited.value;
        if (given !== undefined && before.problem !== undefined) return failure('details_unreadable');
        const details = given === undefined ? before.details : withKeyIds(given);
        const after = { ...before, ...fields, details };
        if (isDeepStrictEqual(before, after)) return success(after);
        const { clientSecret, clientName, scope } = after;
        const document = documentText(details);
        requireDetails(hasDetails, document);
        const isWritten = hasDetails && given !== undefined;
        const values = [clientId, clientSecret, clientName, scope, ...(isWritten ? [document] : [])];
        const changed = await connection.query(isWritten ? update.all : update.columns, values);
        requireChanged(changed.length, 1);
        note({ before, after });
        return success(after);
      },
    );
  }

  remove(clientId: string): Promise<StoredClient | undefined> {
    return this.#transaction(async (connection, { findAndLock, remove }, note) => {
      const before = await this.#find(connection, findAndLock, clientId);
      if (before === undefined) return undefined;
      requireChanged((await connection.query(remove, [clientId])).length, 1);
      note({ before });
      return before;
    });
  }

  async close(): Promise<void> {
    await this.#plan?.close();
    await this.#database.close();
  }

  async #find(connection: SqlConnection, statement: string, clientId: string): Promise<StoredClient | undefined> {
    const records = await connection.query<ClientRow>(statement, [clientId]);
    // The collation of another application may ignore case.
    const record = records.find((found) => found.clientId === clientId);
    return record && this.#read(record);
  }

  #read({ details: document, ...client }: ClientRow): StoredClient {
    const read = this.#readDetails(parseJson(document));
    if (read.ok) return { ...client, details: withKeyIds({ ...NO_DETAILS, ...read.value }) };
    return { ...client, details: NO_DETAILS, problem: `details: ${read.problem.join('; ')}` };
  }

  /** @param work calls `note` with the client that it has changed, or not at all if nothing is to be kept. */
  #transaction<Outcome>(
    work: (
      connection: SqlConnection,
      statements: ReturnType<typeof clientStatements>,
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

  #use<Outcome>(
    work: (connection: SqlConnection, statements: ReturnType<typeof clientStatements>) => Promise<Outcome>,
  ): Promise<Outcome> {
    return withConnection(this.#database, async (connection) => {
      const hasDetails = await this.#database.hasDetails(connection);
      return work(connection, clientStatements(this.#database.dialect, hasDetails));
    });
  }
}

function withKeyIds({ keys, ...details }: ClientDetails): StoredDetails {
  const idOf = (text: string) => hash('sha256', text, 'base64url');
  return { ...details, keys: keys.map((key) => ({ ...key, key_id: idOf(thumbprintInput(key.jwk)) })) };
}
