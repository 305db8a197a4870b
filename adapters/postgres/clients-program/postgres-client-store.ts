import { isDeepStrictEqual } from 'node:util';
import type { Pool, PoolClient } from 'pg';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import type {
  ChangeableClient,
  ChangedRegistration,
  ClientChange,
  ClientEdit,
  ClientImport,
  ClientRange,
  ClientStore,
  ExportedClient,
  FoundClients,
  StoredClient,
  ValidDetails,
} from '../../../application/ports/client-store.ts';
import { type ClientDetails, NO_DETAILS } from '../../../domain/client-details.ts';
import type { ClientRegistrationFields, NewClient } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { CLIENTS, type ClientRecord, fieldsOf } from '../client-entity.ts';
import { type Connection, openConnection, type Warn } from '../connection.ts';
import { storeFault } from '../fault.ts';
import { commitRecorded, withConnection } from '../recorded-commit.ts';
import { warnOfSchemas } from '../shared-schemas.ts';
import { probeTable } from '../table.ts';
import { CLIENT_STATEMENTS as SQL } from './client-statements.ts';
import { type DetailRecord, DetailRows, exportedDetails } from './detail-rows.ts';
import { PostgresClientImport } from './postgres-client-import.ts';

/** How long a statement may take; half of it for a connection, and for a lock. */
const DEADLINE_MS = 10_000;

/** An import keeps its connection, and everything else needs one at a time. */
const POOL_SIZE = 2;

const PAGE_SIZE = 500;

/** The table `clients`, to manage it. Each change is one transaction that locks the rows before it changes them. */
export class PostgresClientStore implements ClientStore {
  readonly #connection: Connection;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;
  #prepared: Promise<unknown> | undefined;
  #import: ClientImport | undefined;

  private constructor(connection: Connection, recorder: ChangeRecorder<ClientChange> | undefined) {
    this.#connection = connection;
    this.#recorder = recorder;
    // A connection that breaks between two statements fails at the second.
    connection.pool.on('error', () => {});
  }

  /** Connects at the first use. The table has to exist. */
  static async open(url: string, recorder?: ChangeRecorder<ClientChange>, warn?: Warn): Promise<PostgresClientStore> {
    const options = { url, poolSize: POOL_SIZE, deadlineMs: DEADLINE_MS, warn };
    return new PostgresClientStore(await openConnection(options, CLIENTS.schema), recorder);
  }

  async *list(range: ClientRange): AsyncGenerator<readonly ClientRegistrationFields[]> {
    yield* this.#pages(range, (connection, values) => query(connection, SQL.list, values));
    if (range.prefix === '') yield* this.#listNulls();
  }

  async *export(range: ClientRange): AsyncGenerator<readonly ExportedClient[]> {
    yield* this.#pages(range, async (connection, values) => {
      const { areMissing } = await DetailRows.on(connection);
      const statement = areMissing ? SQL.exportWithoutDetails() : SQL.export;
      const { rows } = await connection.query<ClientRecord & DetailRecord & { readonly fits: boolean }>(statement, [
        ...values,
      ]);
      return rows.map((row) => ({ ...fieldsOf(row), details: row.fits ? exportedDetails(row) : undefined }));
    });
    if (range.prefix !== '') return;
    for await (const page of this.#listNulls()) yield page.map((client) => ({ ...client, details: NO_DETAILS }));
  }

  /** @param read the first rows of a page, and none only at the end. */
  async *#pages<Fields extends ClientRegistrationFields>(
    { prefix, after }: ClientRange,
    read: (connection: PoolClient, values: readonly unknown[]) => Promise<readonly Fields[]>,
  ): AsyncGenerator<readonly Fields[]> {
    const pattern = `${prefix.replace(/[\\%_]/g, '\\$&')}%`;
    let [first, skipped] = [after ?? prefix, 0];
    for (let page: readonly Fields[] | undefined; page === undefined || page.length > 0; ) {
      const values = [first, skipped, after, pattern, PAGE_SIZE];
      page = await this.#withConnection((connection) => read(connection, values));
      const last = page.at(-1)?.clientId ?? first;
      // An id may have more rows than a page, in a table that another application created.
      const ofLast = page.filter(({ clientId }) => clientId === last).length;
      skipped = last === first ? skipped + ofLast : ofLast;
      first = last;
      if (page.length > 0) yield page;
    }
  }

  summarize(clients: readonly ClientRegistrationFields[], now: number): Promise<readonly ValidDetails[]> {
    return this.#withConnection(async (connection) => (await DetailRows.on(connection)).summarize(clients, now));
  }

  find(clientId: string): Promise<FoundClients> {
    return this.#withConnection(async (connection) => {
      const clients = await query(connection, SQL.find, [clientId]);
      const [first] = clients;
      if (first === undefined) return { clients, details: NO_DETAILS };
      const rows = await DetailRows.on(connection);
      return { clients, details: await rows.find({ clientId, id: first.id }) };
    });
  }

  add({ details, clientId, clientSecret, clientName, scope }: NewClient): Promise<FoundClients | undefined> {
    return this.#transaction(async (connection, note) => {
      const [added] = await query(connection, SQL.insert, [clientId, clientSecret, clientName, scope]);
      if (added === undefined) return undefined;
      const rows = await DetailRows.on(connection);
      const stored = await rows.replace({ clientId, id: added.id }, NO_DETAILS, { ...NO_DETAILS, ...details });
      note({ after: { client: added, details: stored } });
      return { clients: [added], details: stored };
    });
  }

  async startImport(): Promise<ClientImport> {
    await this.#import?.close();
    try {
      const connection = await (await this.#pool()).connect();
      this.#import = await PostgresClientImport.start(connection, this.#recorder);
      return this.#import;
    } catch (fault) {
      throw storeFault(fault);
    }
  }

  change<Problem>(
    clientId: string,
    edit: (stored: ChangeableClient) => Result<ClientEdit, Problem>,
  ): Promise<Result<FoundClients, Problem | 'client_unknown'>> {
    return this.#transaction(async (connection, note) => {
      const stored = await query(connection, SQL.findAndLock, [clientId]);
      const rows = await DetailRows.on(connection);
      const edits: { readonly before: StoredClient; readonly client: ClientRegistrationFields; next: ClientDetails }[] =
        [];
      for (const client of stored) {
        const before = await rows.find({ clientId, id: client.id });
        const edited = edit({ ...client, details: before });
        if (!edited.ok) return edited;
        const { details: next = before, ...fields } = edited.value;
        edits.push({ before: { client, details: before }, client: { ...client, ...fields }, next });
      }
      const clients = edits.map(({ client }) => client);
      for (const field of ['clientSecret', 'clientName', 'scope'] as const) {
        const [before, after] = [stored.map((client) => client[field]), clients.map((client) => client[field])];
        if (!isDeepStrictEqual(before, after)) await query(connection, SQL.change[field], [clientId, after, before]);
      }
      const changed: StoredClient[] = [];
      for (const { before, client, next } of edits) {
        const after = { client, details: await rows.replace({ clientId, id: client.id }, before.details, next) };
        changed.push(after);
        if (!isDeepStrictEqual(before, after)) note({ before, after });
      }
      const [first] = changed;
      return first === undefined ? failure('client_unknown') : success({ clients, details: first.details });
    });
  }

  remove(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    return this.#transaction(async (connection, note) => {
      const removed = await query(connection, SQL.remove, [clientId]);
      const rows = await DetailRows.on(connection);
      for (const client of removed) {
        note({ before: { client, details: await rows.find({ clientId, id: client.id }) } });
      }
      await rows.remove(clientId);
      return removed;
    });
  }

  async close(): Promise<void> {
    await this.#import?.close();
    await this.#connection.close();
  }

  async *#listNulls(): AsyncGenerator<readonly ClientRegistrationFields[]> {
    for (let start = 0, size = PAGE_SIZE; size === PAGE_SIZE; start += size) {
      const values = [start, PAGE_SIZE];
      const page = await this.#withConnection((connection) => query(connection, SQL.listNulls, values));
      size = page.length;
      if (size > 0) yield page;
    }
  }

  /** @param work calls `note` with each client that it has changed. */
  #transaction<Outcome>(
    work: (connection: PoolClient, note: (changed: ChangedRegistration) => void) => Promise<Outcome>,
  ): Promise<Outcome> {
    return this.#withConnection(async (connection) => {
      // The rows are read as they are once they are locked, whatever level the database has by default.
      await connection.query('begin isolation level read committed');
      const clients: ChangedRegistration[] = [];
      const outcome = await work(connection, (changed) => {
        clients.push(changed);
      });
      const change = clients.length === 0 ? undefined : ({ kind: 'clients', clients } as const);
      await commitRecorded(connection, change, this.#recorder);
      return outcome;
    });
  }

  async #withConnection<Outcome>(work: (connection: PoolClient) => Promise<Outcome>): Promise<Outcome> {
    try {
      return await withConnection(await this.#pool(), work);
    } catch (fault) {
      throw storeFault(fault);
    }
  }

  /** Once the table was found. */
  async #pool(): Promise<Pool> {
    // Without a schema, it is not created.
    const table = probeTable({ ...CLIENTS, schema: undefined }, this.#connection);
    this.#prepared ??= warnOfSchemas(this.#connection).then(() => table.prepare());
    await this.#prepared;
    return this.#connection.pool;
  }
}

async function query(
  connection: PoolClient,
  statement: string,
  values: readonly unknown[],
): Promise<readonly ClientRegistrationFields[]> {
  const { rows } = await connection.query<ClientRecord>(statement, [...values]);
  return rows.map(fieldsOf);
}
