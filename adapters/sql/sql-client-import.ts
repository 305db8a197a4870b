import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type {
  ClientChange,
  ClientImport,
  ExistingClients,
  ImportCounts,
  ImportedFile,
  RepeatedClient,
} from '../../application/ports/client-store.ts';
import { type ClientDetails, withoutEmpty } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { documentOf } from '../../domain/details-document.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { documentText, requireDetails } from './client-statements.ts';
import { commitRecorded } from './recorded-commit.ts';
import type { SqlConnection, SqlDialect, SqlValue } from './sql-database.ts';

/** Clients that one statement adds to the temporary table, within the number of parameters that a database takes. */
const ROWS_AT_ONCE = 500;

/** Clients that one statement stores: it takes a small part of its deadline. */
const BATCH_SIZE = 2_000;

/** How often a save is tried: a program that locks rows in another order may cause a deadlock. */
const ATTEMPTS = 3;

/** Which of the imported clients an outcome means. */
const OUTCOMES = { added: 'outcome is null', replaced: 'outcome is not null', locked: "outcome = 'locked'" } as const;

const FIELDS = 'client_id, client_secret, client_name, scope';

/** Statements of an import, in the order of their use. Clients wait in a temporary table, which only their connection sees. */
function importStatements({ temporary, jsonType, bytewise, merged }: SqlDialect, hasDetails: boolean) {
  const imported = `${temporary}.imported_clients`;
  const batch = 'position >= $1 and position < $2';
  const names = ['client_secret', 'client_name', 'scope', ...(hasDetails ? ['details'] : [])];
  const secret = `case when stored.client_secret like '!%' and imported.client_secret not like '!%'
    then '!' || imported.client_secret else imported.client_secret end`;
  const details = hasDetails ? [merged('stored.details', 'imported.details')] : [];
  const next = [secret, 'imported.client_name', 'imported.scope', ...details];
  const page = (kind: keyof ImportCounts, condition: string) => `select client_id from ${imported}
    where ${OUTCOMES[kind]}${condition} order by client_id limit ${BATCH_SIZE}`;
  return {
    create: `create temporary table imported_clients (position integer primary key, client_id text ${bytewise} not null unique,
      client_secret text not null, client_name text not null, scope text not null, details ${jsonType} not null, outcome text)`,
    /** Parameters: the columns of so many rows. Leaves out ids that are there already. */
    add: (rows: number) => `insert into ${imported} (position, ${FIELDS}, details) values
      ${Array.from({ length: rows }, (_, row) => `(${Array.from({ length: 6 }, (_, column) => `$${6 * row + column + 1}`).join(', ')})`).join(', ')}
      on conflict do nothing returning client_id as "clientId", position`,
    first: `select position from ${imported} where client_id = $1`,
    /** Parameters of this and the next ones: the first position of a batch, and the one behind it. */
    note: `update ${imported} as imported set outcome = (select
        case when client_secret like '!%' then 'locked' else 'replaced' end from clients where clients.client_id = imported.client_id)
      where ${batch}`,
    taken: `select position from ${imported} where outcome is not null order by position limit ${BATCH_SIZE}`,
    /** A locked client stays locked. What has the given values already is not written. */
    replace: `update clients as stored set (${names.join(', ')}) = (${next.join(', ')}) from ${imported} as imported
      where stored.client_id = imported.client_id and outcome is not null and ${batch}
        and (${names.map((name) => `stored.${name}`).join(', ')}) <> (${next.join(', ')})`,
    insert: `insert into clients (${FIELDS}${hasDetails ? ', details' : ''})
      select ${FIELDS}${hasDetails ? `, ${merged("'{}'", 'details')}` : ''} from ${imported} where outcome is null and ${batch}`,
    count: `select ${Object.entries(OUTCOMES)
      .map(([kind, condition]) => `count(*) filter (where ${condition}) as "${kind}"`)
      .join(', ')} from ${imported}`,
    ids: (kind: keyof ImportCounts) => ({ first: page(kind, ''), next: page(kind, ' and client_id > $1') }),
    drop: `drop table if exists ${imported}`,
  };
}

interface ImportParts {
  readonly connection: SqlConnection;
  readonly dialect: SqlDialect;
  readonly hasDetails: boolean;
  readonly faultOf: (fault: unknown) => unknown;
  readonly isDeadlock: (fault: unknown) => boolean;
  readonly recorder: ChangeRecorder<ClientChange> | undefined;
}

/** An import with its own connection, since the temporary table belongs to it. */
export class SqlClientImport implements ClientImport {
  readonly #parts: ImportParts;
  readonly #sql: ReturnType<typeof importStatements>;
  #count = 0;
  #isClosed = false;

  private constructor(parts: ImportParts) {
    this.#parts = parts;
    this.#sql = importStatements(parts.dialect, parts.hasDetails);
  }

  /** @param parts whose connection is released by `close`, and before that if a method throws. */
  static async start(parts: ImportParts): Promise<SqlClientImport> {
    const started = new SqlClientImport(parts);
    const { beforeImport } = parts.dialect;
    await started.#run(({ run }) => run(`${beforeImport}; ${started.#sql.drop}; ${started.#sql.create}`));
    return started;
  }

  add(clients: readonly NewClient[]): Promise<readonly RepeatedClient[]> {
    return this.#run(async (connection) => {
      const repeated: RepeatedClient[] = [];
      for (let start = 0; start < clients.length; start += ROWS_AT_ONCE) {
        repeated.push(...(await this.#add(connection, clients.slice(start, start + ROWS_AT_ONCE))));
      }
      return repeated;
    });
  }

  save(file: ImportedFile | undefined, existing: ExistingClients): Promise<Result<ImportCounts, readonly number[]>> {
    return this.#run(async (connection) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#saveOnce(connection, file, existing);
        } catch (fault) {
          if (attempt === ATTEMPTS || !this.#parts.isDeadlock(fault)) throw fault;
          await connection.run('rollback');
        }
      }
    });
  }

  async *ids(kind: keyof ImportCounts): AsyncGenerator<readonly string[]> {
    const { first, next } = this.#sql.ids(kind);
    for (let last: string | undefined, isFirst = true; isFirst || last !== undefined; isFirst = false) {
      const values = last === undefined ? [] : [last];
      const page: readonly { readonly client_id: string }[] = await this.#run((connection) =>
        connection.query(last === undefined ? first : next, values),
      );
      last = page.at(-1)?.client_id;
      if (page.length > 0) yield page.map(({ client_id }) => client_id);
    }
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
    await commitRecorded(connection, file && ({ kind: 'import', counts, file } as const), this.#parts.recorder);
    return success(counts);
  }

  async #add(connection: SqlConnection, clients: readonly NewClient[]): Promise<readonly RepeatedClient[]> {
    const values = clients.flatMap(({ clientId, clientSecret, clientName, scope, details = {} }): SqlValue[] => {
      requireDetails(this.#parts.hasDetails, documentText(details));
      this.#count += 1;
      return [this.#count - 1, clientId, clientSecret, clientName, scope, givenText(details)];
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
