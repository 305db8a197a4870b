import type { DatabaseSync } from 'node:sqlite';
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
import type { NewClient } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { isLocked, replaceSecret } from '../../../domain/stored-secret.ts';
import { storeFault } from '../file-fault.ts';
import { inTransaction } from '../migrate-file.ts';
import { commitRecorded } from '../recorded-commit.ts';
import { replacement as replacementOf, sha256 } from './detail-rows.ts';

/** Ids in one page, and positions in the answer to clients whose ids are taken. */
const PAGE_SIZE = 2_000;

/** How long an import waits for another one, in milliseconds: as long as a million clients take, and some more. */
const WAIT_MS = 120_000;

/** Which of the imported clients an outcome means. Before `save`, `outcome` is null; after it, that means an added client. */
const OUTCOMES = { added: 'outcome is null', replaced: 'outcome is not null', locked: "outcome = 'locked'" };

/** The order of ids of a page. Parameter: the last client id before, or null. */
const PAGE = `client_id >= coalesce(?1, '') and client_id is not ?1 order by client_id limit ${PAGE_SIZE}`;

/**
 * Clients wait in a temporary table, which is a file that only this connection sees. Stored ones are replaced in the order of
 * their ids, which is that of their pages after an import.
 */
const SQL = {
  create: `pragma temp_store = file; pragma temp.cache_size = -16384; pragma main.cache_size = -8192;
    drop table if exists temp.imported;
    create temporary table imported (position integer primary key, client_id text not null unique, client_secret text not null,
      client_name text not null, scope text not null, ${DETAIL_KINDS.map((kind) => `${kind} text`).join(', ')}, outcome text)`,
  add: `insert into imported (position, client_id, client_secret, client_name, scope, ${DETAIL_KINDS.join(', ')})
    values (?, ?, ?, ?, ?, ${DETAIL_KINDS.map(() => '?').join(', ')})
    on conflict (client_id) do nothing`,
  first: 'select position from imported where client_id = ?',
  taken: `select position from imported join clients using (client_id) order by position limit ${PAGE_SIZE}`,
  stored: `select position, client_id, clients.id || '' as id, clients.client_secret as stored, imported.client_secret as given
    from imported join clients using (client_id) where ${PAGE}`,
  note: 'update imported set outcome = ?2 where position = ?1',
  replace: `update clients set client_secret = ?3, client_name = imported.client_name, scope = imported.scope
    from imported where position = ?1 and clients.id = ?2
      and (?3, imported.client_name, imported.scope) <> (clients.client_secret, clients.client_name, clients.scope)`,
  insert: `insert into clients (client_id, client_secret, client_name, scope)
    select client_id, client_secret, client_name, scope from imported where outcome is null order by client_id`,
  details: DETAIL_KINDS.map((kind) =>
    replacementOf(
      kind,
      `select clients.id, imported.${kind} as entries from imported join clients using (client_id) where imported.${kind} is not null`,
    ),
  ),
  count: `select ${Object.entries(OUTCOMES)
    .map(([kind, condition]) => `count(*) filter (where ${condition}) as "${kind}"`)
    .join(', ')} from imported`,
  ids: (kind: keyof ImportCounts) => `select client_id from imported where ${OUTCOMES[kind]} and ${PAGE}`,
};

/** A client that is stored already, with its stored secret and the given one. */
interface StoredClient {
  readonly position: number;
  readonly client_id: string;
  readonly id: string;
  readonly stored: string;
  readonly given: string;
}

/** An import. Nothing but `save` holds a lock of the file. */
export class SqliteClientImport implements ClientImport {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;
  #count = 0;
  #isClosed = false;

  constructor(database: DatabaseSync, path: string, recorder: ChangeRecorder<ClientChange> | undefined) {
    this.#database = database;
    this.#path = path;
    this.#recorder = recorder;
    database.exec(SQL.create);
  }

  async add(clients: readonly NewClient[]): Promise<readonly RepeatedClient[]> {
    return this.#run(() => {
      const [insert, find] = [this.#database.prepare(SQL.add), this.#database.prepare(SQL.first)];
      const store = ({ clientId, clientSecret, clientName, scope, details }: NewClient) => {
        const entries = DETAIL_KINDS.map((kind) => entriesText(kind, details ?? {}, sha256) ?? null);
        const position = this.#count;
        this.#count += 1;
        if (insert.run(position, clientId, clientSecret, clientName, scope, ...entries).changes === 1) return [];
        return { position, first: Number(find.get(clientId)?.['position']) };
      };
      // Without a lock of the file.
      return inTransaction(this.#database, () => clients.flatMap(store), 'begin');
    });
  }

  async save(
    file: ImportedFile | undefined,
    existing: ExistingClients,
  ): Promise<Result<ImportCounts, readonly number[]>> {
    return this.#run(() => {
      this.#database.exec(`pragma busy_timeout = ${WAIT_MS}`);
      return inTransaction(this.#database, () => {
        const saved = this.#store(existing);
        const isMade = saved.ok && file !== undefined;
        commitRecorded(
          this.#database,
          isMade ? { kind: 'import', counts: saved.value, file } : undefined,
          this.#recorder,
        );
        return saved;
      });
    });
  }

  async *ids(kind: keyof ImportCounts): AsyncGenerator<readonly string[]> {
    for (let last: string | null | undefined = null; last !== undefined; ) {
      const page = this.#run(() => this.#database.prepare(SQL.ids(kind)).all(last ?? null));
      const ids = page.map(({ client_id }) => String(client_id));
      last = ids.at(-1);
      if (ids.length > 0) yield ids;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#database.exec('drop table if exists temp.imported');
  }

  #store(existing: ExistingClients): Result<ImportCounts, readonly number[]> {
    if (existing === 'refuse') {
      const taken = this.#database.prepare(SQL.taken).all();
      if (taken.length > 0) return failure(taken.map(({ position }) => Number(position)));
    } else {
      this.#replace();
    }
    this.#database.exec(SQL.insert);
    for (const { remove, store } of SQL.details) {
      if (existing === 'replace') this.#database.exec(remove);
      this.#database.exec(store);
    }
    const { added, replaced, locked } = this.#database.prepare(SQL.count).get() ?? {};
    return success({ added: Number(added), replaced: Number(replaced), locked: Number(locked) });
  }

  /** Page by page: a function of ours in a statement on all rows would keep memory for each of them. */
  #replace(): void {
    const prepare = (text: string) => this.#database.prepare(text);
    const [find, note, replace] = [prepare(SQL.stored), prepare(SQL.note), prepare(SQL.replace)];
    for (let last: string | null | undefined = null; last !== undefined; ) {
      const page = find.all(last) as unknown as readonly StoredClient[];
      for (const { position, id, stored, given } of page) {
        note.run(position, isLocked(stored) ? 'locked' : 'replaced');
        replace.run(position, Number(id), replaceSecret(stored, given));
      }
      last = page.at(-1)?.client_id;
    }
  }

  #run<Outcome>(work: () => Outcome): Outcome {
    try {
      return work();
    } catch (fault) {
      throw storeFault(this.#path, fault);
    }
  }
}
