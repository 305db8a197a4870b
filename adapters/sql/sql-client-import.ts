import type { ClientRow } from '../../application/client-lookup.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type {
  ClientChange,
  ClientImport,
  ExistingClients,
  FileChange,
  ImportCounts,
  ImportedFile,
  PlanCounts,
  PlanEntry,
  PlannedClient,
  RepeatedClient,
  StoredClient,
  VersionedClient,
} from '../../application/ports/client-store.ts';
import { type ClientDetails, withoutEmpty } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { documentOf } from '../../domain/details-document.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { documentText, endTransaction, requireDetails } from './client-statements.ts';
import { planStatements } from './sql-client-plan.ts';
import type { SqlConnection, SqlDialect, SqlValue } from './sql-database.ts';
import { storedEntry, type WaitingClient } from './stored-entry.ts';

/** Clients that one statement adds to the temporary table, within the number of parameters that a database takes. */
const ROWS_AT_ONCE = 500;

/** Clients that one statement stores: it takes a small part of its deadline. */
const BATCH_SIZE = 2_000;

/** How often a save is tried: a program that locks rows in another order may cause a deadlock. */
const ATTEMPTS = 3;

/** Which of the imported clients an outcome means. */
const OUTCOMES = { added: 'outcome is null', replaced: 'outcome is not null', locked: "outcome = 'locked'" } as const;

/** Those of the temporary table. */
const COLUMNS = 9;

const FIELDS = 'client_id, client_secret, client_name, scope';

/** Statements of an import, in the order of their use. Clients wait in a temporary table, which only their connection sees. */
function importStatements({ temporary, jsonType, bytewise, merged, ownerOf }: SqlDialect, hasDetails: boolean) {
  const imported = `${temporary}.imported_clients`;
  const batch = 'position >= $1 and position < $2';
  const names = ['client_secret', 'client_name', 'scope', ...(hasDetails ? ['details'] : [])];
  const secret = `case when stored.client_secret like '!%' and imported.client_secret not like '!%'
    then '!' || imported.client_secret else imported.client_secret end`;
  const details = hasDetails ? [merged('stored.details', 'imported.details')] : [];
  const next = [secret, 'imported.client_name', 'imported.scope', ...details];
  const replacing = (condition: string, values: readonly string[]) => `update clients as stored
      set (${names.join(', ')}) = (${values.join(', ')}) from ${imported} as imported
      where stored.client_id = imported.client_id and ${condition} and ${batch}
        and (${names.map((name) => `stored.${name}`).join(', ')}) <> (${values.join(', ')})`;
  const inserting = (condition: string) => `insert into clients (${FIELDS}${hasDetails ? ', details' : ''})
      select ${FIELDS}${hasDetails ? `, ${merged("'{}'", 'details')}` : ''} from ${imported} where ${condition} and ${batch}`;
  return {
    create: `create temporary table imported_clients (position integer primary key, client_id text ${bytewise} not null unique,
      client_secret text not null, client_name text not null, scope text not null, details ${jsonType} not null, outcome text,
      changes text, version text)`,
    /** Parameters: the columns of so many rows. Leaves out ids that are there already. */
    add: (rows: number) => `insert into ${imported} (position, ${FIELDS}, details, outcome, changes, version) values
      ${Array.from({ length: rows }, (_, row) => `(${Array.from({ length: COLUMNS }, (_, column) => `$${COLUMNS * row + column + 1}`).join(', ')})`).join(', ')}
      on conflict do nothing returning client_id as "clientId", position`,
    first: `select position from ${imported} where client_id = $1`,
    /** Parameters of this and the next ones: the first position of a batch, and the one behind it. */
    note: `update ${imported} as imported set outcome = (select
        case when client_secret like '!%' then 'locked' else 'replaced' end from clients where clients.client_id = imported.client_id)
      where ${batch}`,
    taken: `select position from ${imported} where outcome is not null order by position limit ${BATCH_SIZE}`,
    /** A locked client stays locked. What has the given values already is not written. */
    replace: replacing('outcome is not null', next),
    insert: inserting('outcome is null'),
    change: replacing(
      "outcome = 'changed'",
      names.map((name) => `imported.${name}`),
    ),
    insertPlanned: inserting("outcome = 'added'"),
    count: `select ${Object.entries(OUTCOMES)
      .map(([kind, condition]) => `count(*) filter (where ${condition}) as "${kind}"`)
      .join(', ')} from ${imported}`,
    /** Parameter of the next page: the last id. */
    page: (condition: string, next: string) => `select client_id as "clientId", changes,
        case outcome when 'locked' then 'replaced' else coalesce(outcome, 'added') end as "action",
        cast(details -> 'claims' as text) as "claims", ${ownerOf('details')} as "owner"
      from ${imported} where ${condition}${next} order by client_id limit ${BATCH_SIZE}`,
    drop: `drop table if exists ${imported}`,
  };
}

interface ImportParts {
  readonly connection: SqlConnection;
  readonly dialect: SqlDialect;
  readonly hasDetails: boolean;
  readonly faultOf: (fault: unknown) => unknown;
  readonly isDeadlock: (fault: unknown) => boolean;
  readonly read: (record: ClientRow) => StoredClient;
  readonly recorder: ChangeRecorder<ClientChange> | undefined;
}

/** An import with its own connection, since the temporary table belongs to it. */
export class SqlClientImport implements ClientImport {
  readonly #parts: ImportParts;
  readonly #sql: ReturnType<typeof importStatements>;
  readonly #planSql: ReturnType<typeof planStatements>;
  #count = 0;
  #isClosed = false;

  private constructor(parts: ImportParts) {
    this.#parts = parts;
    this.#sql = importStatements(parts.dialect, parts.hasDetails);
    this.#planSql = planStatements(parts.dialect, parts.hasDetails);
  }

  /** @param parts whose connection is released by `close`, and before that if a method throws. */
  static async start(parts: ImportParts): Promise<SqlClientImport> {
    const started = new SqlClientImport(parts);
    const { beforeImport } = parts.dialect;
    await started.#run(({ run }) => run(`${beforeImport}; ${started.#sql.drop}; ${started.#sql.create}`));
    return started;
  }

  add(clients: readonly (NewClient | PlannedClient)[]): Promise<readonly RepeatedClient[]> {
    return this.#run(async (connection) => {
      const repeated: RepeatedClient[] = [];
      for (let start = 0; start < clients.length; start += ROWS_AT_ONCE) {
        repeated.push(...(await this.#add(connection, clients.slice(start, start + ROWS_AT_ONCE))));
      }
      return repeated;
    });
  }

  find(clientIds: readonly string[]): Promise<readonly VersionedClient[]> {
    return this.#run(async (connection) => {
      const found: VersionedClient[] = [];
      for (let start = 0; start < clientIds.length; start += ROWS_AT_ONCE) {
        const ids = clientIds.slice(start, start + ROWS_AT_ONCE);
        const records = await connection.query<ClientRow & { readonly version: string }>(
          this.#planSql.find(ids.length),
          ids,
        );
        found.push(...records.map(({ version, ...record }) => ({ ...this.#parts.read(record), version })));
      }
      return found;
    });
  }

  async prune(owner: string): Promise<void> {
    requireDetails(this.#parts.hasDetails, documentText({ owner }));
    this.#count += await this.#run((connection) => this.#planSql.prune(connection, owner, this.#count));
  }

  countPlan(): Promise<PlanCounts> {
    return this.#run((connection) => this.#planSql.countsOf(connection));
  }

  async *plan(kind: keyof PlanCounts): AsyncGenerator<readonly PlanEntry[]> {
    for await (const page of this.#pages(`outcome = '${kind}'`)) {
      yield page.map(({ clientId, changes }) => ({ clientId, changes: changes ? changes.split(' ') : [] }));
    }
  }

  apply(
    file: ImportedFile,
    pruned: string | undefined,
    onCommit: () => void = () => {},
  ): Promise<Result<PlanCounts, 'plan_outdated'>> {
    return this.#attempt(async (connection) => {
      await connection.begin('table');
      const batches = [...this.#batches()];
      if (await this.#planSql.isOutdated(connection, batches, pruned)) {
        await connection.run('rollback');
        return failure('plan_outdated');
      }
      for (const batch of batches) {
        for (const statement of [this.#planSql.remove, this.#sql.change, this.#sql.insertPlanned]) {
          await connection.query(statement, batch);
        }
      }
      const counts = await this.#planSql.countsOf(connection);
      await this.#commit(connection, { kind: 'apply', counts, file }, onCommit);
      return success(counts);
    });
  }

  save(file: ImportedFile | undefined, existing: ExistingClients): Promise<Result<ImportCounts, readonly number[]>> {
    return this.#attempt((connection) => this.#saveOnce(connection, file, existing));
  }

  async *ids(kind: keyof ImportCounts): AsyncGenerator<readonly string[]> {
    for await (const page of this.#pages(OUTCOMES[kind])) yield page.map(({ clientId }) => clientId);
  }

  async *#pages(condition: string): AsyncGenerator<readonly WaitingClient[]> {
    for (let last: string | undefined, isFirst = true; isFirst || last !== undefined; isFirst = false) {
      const values = last === undefined ? [] : [last];
      const statement = this.#sql.page(condition, last === undefined ? '' : ' and client_id > $1');
      const page: readonly WaitingClient[] = await this.#run((connection) => connection.query(statement, values));
      last = page.at(-1)?.clientId;
      if (page.length > 0) yield page;
    }
  }

  #attempt<Outcome>(transaction: (connection: SqlConnection) => Promise<Outcome>): Promise<Outcome> {
    return this.#run(async (connection) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await transaction(connection);
        } catch (fault) {
          if (attempt === ATTEMPTS || !this.#parts.isDeadlock(fault)) throw fault;
          await connection.run('rollback');
        }
      }
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { connection } = this.#parts;
    const isDropped = await connection.run(this.#sql.drop).then(
      () => true,
      () => false,
    );
    connection.release(!isDropped);
  }

  async #saveOnce(
    connection: SqlConnection,
    file: ImportedFile | undefined,
    existing: ExistingClients,
  ): Promise<Result<ImportCounts, readonly number[]>> {
    await connection.begin('table');
    for (const batch of this.#batches()) await connection.query(this.#sql.note, batch);
    const taken = existing === 'replace' ? [] : await connection.query<{ readonly position: number }>(this.#sql.taken);
    if (taken.length > 0) {
      await connection.run('rollback');
      return failure(taken.map(({ position }) => Number(position)));
    }
    for (const batch of this.#batches()) {
      if (existing === 'replace') await connection.query(this.#sql.replace, batch);
      await connection.query(this.#sql.insert, batch);
    }
    const [row] = await connection.query<Readonly<Record<keyof ImportCounts, number | string>>>(this.#sql.count);
    const counts = { added: Number(row?.added), replaced: Number(row?.replaced), locked: Number(row?.locked) };
    if (file === undefined) await connection.run('rollback');
    else await this.#commit(connection, { kind: 'import', counts, file });
    return success(counts);
  }

  /** Records all clients, of which a page is held in memory at a time, and commits. */
  async #commit(connection: SqlConnection, change: FileChange, onCommit = () => {}): Promise<void> {
    const { recorder } = this.#parts;
    const pages = this.#pages("outcome is distinct from 'unchanged'");
    const { value: first = [] } = await pages.next();
    await endTransaction(connection, { ...change, clients: first.map(storedEntry) }, recorder, async () => {
      for await (const page of pages) recorder?.recordMore({ ...change, clients: page.map(storedEntry) });
      onCommit();
    });
  }

  async #add(
    connection: SqlConnection,
    clients: readonly (NewClient | PlannedClient)[],
  ): Promise<readonly RepeatedClient[]> {
    const values = clients.flatMap((client): SqlValue[] => {
      const { clientId, clientSecret, clientName, scope, details = {} } = client;
      const document = documentText(details);
      requireDetails(this.#parts.hasDetails, document);
      this.#count += 1;
      const fields = [this.#count - 1, clientId, clientSecret, clientName, scope];
      if (!('plan' in client)) return [...fields, givenText(details), null, null, null];
      const { version, changes } = client.plan;
      const outcome = version === undefined ? 'added' : changes.length > 0 ? 'changed' : 'unchanged';
      // What stays as it is takes no room.
      const stored = outcome === 'unchanged' ? [...fields.slice(0, 2), '', '', '', '{}'] : [...fields, document];
      return [...stored, outcome, changes.join(' '), version ?? null];
    });
    const added = await connection.query<{ readonly position: number }>(this.#sql.add(clients.length), values);
    if (added.length === clients.length) return [];
    const there = new Set(added.map(({ position }) => Number(position)));
    const repeated: RepeatedClient[] = [];
    for (const [index, { clientId }] of clients.entries()) {
      const position = this.#count - clients.length + index;
      if (there.has(position)) continue;
      const [first] = await connection.query<{ readonly position: number }>(this.#sql.first, [clientId]);
      repeated.push({ position, first: Number(first?.position) });
    }
    return repeated;
  }

  *#batches(): Generator<readonly [number, number]> {
    for (let start = 0; start < this.#count; start += BATCH_SIZE) yield [start, start + BATCH_SIZE];
  }

  /** After a fault the connection is closed, which ends the transaction. */
  async #run<Outcome>(work: (connection: SqlConnection) => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work(this.#parts.connection);
    } catch (fault) {
      if (!this.#isClosed) this.#parts.connection.release(true);
      this.#isClosed = true;
      throw this.#parts.faultOf(fault);
    }
  }
}

/** What a new secret in the column replaces. */
const NO_MARKS = { client_secret_expires_at: null, client_secret_generated: null };

/** The kinds that are given. A kind without entries is null, and replaces what is stored. */
function givenText(details: Partial<ClientDetails>): string {
  const none = Object.keys(documentOf(details)).map((field) => [field, null]);
  return JSON.stringify({ ...NO_MARKS, ...Object.fromEntries(none), ...documentOf(withoutEmpty(details)) });
}
