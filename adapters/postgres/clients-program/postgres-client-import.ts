import type { PoolClient } from 'pg';
import { DETAIL_KINDS, entriesText } from '../../../application/clients-program/detail-tables.ts';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import type {
  ClientChange,
  ClientImport,
  ExistingClients,
  ImportCounts,
  ImportedFile,
  RepeatedClient,
} from '../../../application/ports/client-store.ts';
import type { ClientDetails } from '../../../domain/client-details.ts';
import type { NewClient } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { isLocked, replaceSecret } from '../../../domain/stored-secret.ts';
import { hasState, SQLSTATE, storeFault } from '../fault.ts';
import { commitRecorded } from '../recorded-commit.ts';
import { DetailRows, sha256 } from './detail-rows.ts';
import { IMPORT_STATEMENTS as SQL } from './import-statements.ts';

/** Clients that one statement stores: it takes a small part of its deadline. */
const BATCH_SIZE = 2_000;

/** How long an import waits for another one, in milliseconds: as long as a million clients take, and some more. */
const WAIT_MS = 120_000;

/** How often a save is tried: a program that locks rows in another order may cause a deadlock, or store a client meanwhile. */
const ATTEMPTS = 3;

interface Batch {
  /** The last client id of the batch. */
  readonly last: string;
  readonly size: number;
  readonly added: number;
  /** The positions of the others, as text. */
  readonly taken: readonly string[];
}

/** A client that is stored already. */
interface StoredClient {
  readonly clientId: string;
  /** Its stored secret, and the given one. */
  readonly stored: string;
  readonly given: string;
  /** Whether its stored name or scope is not the given one. */
  readonly differs: boolean;
}

/** An import that uses one connection from its start to its end, since the temporary table belongs to the session. */
export class PostgresClientImport implements ClientImport {
  readonly #connection: PoolClient;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;
  #count = 0;
  /** The kinds of details that some client has, and those that some client gives. */
  readonly #stored = new Set<string>();
  readonly #given = new Set<string>();
  #isClosed = false;

  private constructor(connection: PoolClient, recorder: ChangeRecorder<ClientChange> | undefined) {
    this.#connection = connection;
    this.#recorder = recorder;
  }

  /** @param connection is released by `close`, and before that if this throws. */
  static async start(
    connection: PoolClient,
    recorder: ChangeRecorder<ClientChange> | undefined,
  ): Promise<PostgresClientImport> {
    const started = new PostgresClientImport(connection, recorder);
    await started.#run(() => connection.query(SQL.create));
    return started;
  }

  add(clients: readonly NewClient[]): Promise<readonly RepeatedClient[]> {
    return this.#run(async () => {
      const positions = clients.map((_, index) => this.#count + index);
      this.#count += clients.length;
      const ids = clients.map(({ clientId }) => clientId);
      const rest = (['clientSecret', 'clientName', 'scope'] as const).map((field) =>
        clients.map((client) => client[field]),
      );
      const details = DETAIL_KINDS.map((kind) => clients.map((client) => this.#entries(kind, client)));
      const { rowCount } = await this.#connection.query(SQL.add, [positions, ids, ...rest, ...details]);
      if (rowCount === clients.length) return [];
      const repeated = await this.#connection.query<{ position: string; first: string }>(SQL.repeated, [
        ids,
        positions,
      ]);
      return repeated.rows.map(({ position, first }) => ({ position: Number(position), first: Number(first) }));
    });
  }

  save(file: ImportedFile | undefined, existing: ExistingClients): Promise<Result<ImportCounts, readonly number[]>> {
    return this.#run(async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const saved = await this.#saveOnce(file, existing);
          // A client that was stored after the others were read can be replaced in the next attempt.
          if (saved.ok || existing === 'refuse' || attempt === ATTEMPTS) return saved;
        } catch (fault) {
          if (attempt === ATTEMPTS || !hasState(fault, SQLSTATE.deadlock)) throw fault;
          await this.#connection.query('rollback');
        }
      }
    });
  }

  async *ids(kind: keyof ImportCounts): AsyncGenerator<readonly string[]> {
    for (let last: string | null | undefined = null; last !== undefined; ) {
      const page = await this.#run(() => this.#query<{ clientId: string }>(SQL.ids(kind), [last, BATCH_SIZE]));
      last = page.at(-1)?.clientId;
      if (page.length > 0) yield page.map(({ clientId }) => clientId);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const isDropped = await this.#connection.query(SQL.drop).then(
      () => true,
      () => false,
    );
    this.#connection.release(!isDropped);
  }

  async #saveOnce(
    file: ImportedFile | undefined,
    existing: ExistingClients,
  ): Promise<Result<ImportCounts, readonly number[]>> {
    // pg accepts a time limit for one statement here, although its types do not declare it.
    const begin = { text: SQL.begin(WAIT_MS), query_timeout: 2 * WAIT_MS };
    await this.#connection.query(begin);
    const rows = await DetailRows.on(this.#connection);
    if (this.#stored.size > 0) rows.requireTables();
    const counts = { added: 0, replaced: 0, locked: 0 };
    for (let last: string | null = null; ; ) {
      const replaced = existing === 'refuse' ? [] : await this.#replace([last, BATCH_SIZE]);
      const [batch]: readonly Batch[] = await this.#query<Batch>(SQL.insert, [last, BATCH_SIZE]);
      if (batch === undefined || batch.size === 0) break;
      if (batch.taken.length > 0) {
        await this.#connection.query('rollback');
        return failure(batch.taken.map(Number));
      }
      if (!rows.areMissing) await this.#saveDetails([last, BATCH_SIZE], replaced.length > 0);
      counts.added += batch.added;
      counts.replaced += replaced.length;
      counts.locked += replaced.filter(({ stored }) => isLocked(stored)).length;
      last = batch.last;
    }
    if (file === undefined) await this.#connection.query('rollback');
    else await commitRecorded(this.#connection, { kind: 'import', counts, file }, this.#recorder);
    return success(counts);
  }

  #entries(kind: keyof ClientDetails, { details }: NewClient): string | undefined {
    if (details?.[kind] !== undefined) this.#given.add(kind);
    if (details?.[kind]?.length) this.#stored.add(kind);
    return entriesText(kind, details ?? {}, sha256);
  }

  /** A new client has no entries to remove. */
  async #saveDetails(batch: readonly unknown[], isReplaced: boolean): Promise<void> {
    for (const { kind, remove, store } of SQL.details) {
      if (isReplaced && this.#given.has(kind)) await this.#query(remove, batch);
      if (this.#stored.has(kind)) await this.#query(store, batch);
    }
  }

  async #replace(batch: readonly unknown[]) {
    const rows = await this.#query<StoredClient>(SQL.findAndLock, batch);
    const replaced = rows.map((row) => ({ ...row, secret: replaceSecret(row.stored, row.given) }));
    const states = replaced.map(({ stored }) => (isLocked(stored) ? 'locked' : 'unlocked'));
    await this.#query(SQL.note, [replaced.map(({ clientId }) => clientId), states]);
    const changed = replaced.filter(({ secret, stored, differs }) => differs || secret !== stored);
    if (changed.length > 0) {
      const columns = (['clientId', 'secret', 'stored'] as const).map((field) => changed.map((row) => row[field]));
      await this.#query(SQL.replace, columns);
    }
    return replaced;
  }

  async #query<Row extends object>(statement: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#connection.query<Row>(statement, [...values])).rows;
  }

  /** After a fault the connection is closed, which ends the transaction. */
  async #run<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await work();
    } catch (fault) {
      if (!this.#isClosed) this.#connection.release(true);
      this.#isClosed = true;
      throw storeFault(fault);
    }
  }
}
