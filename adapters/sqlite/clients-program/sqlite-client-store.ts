import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import {
  type ChangeableClient,
  type ChangedRegistration,
  type ClientChange,
  type ClientEdit,
  type ClientImport,
  type ClientRange,
  type ClientStore,
  DISPLAYED_TEXT_MAX,
  EXPORTED_PAGE_BYTES_MAX,
  type ExportedClient,
  type FoundClients,
  type ValidDetails,
} from '../../../application/ports/client-store.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import type { ClientRegistrationFields, NewClient } from '../../../domain/client-registration.ts';
import { failure, type Result, success } from '../../../domain/result.ts';
import { storeFault } from '../file-fault.ts';
import { closeKeepingLog, inTransaction, openMigrated } from '../migrate-file.ts';
import { commitRecorded } from '../recorded-commit.ts';
import { FIELDS } from '../sqlite-client-repository.ts';
import { findDetails, measuringReader, replaceDetails, summarizeDetails } from './detail-rows.ts';
import { SqliteClientImport } from './sqlite-client-import.ts';

const PAGE_SIZE = 500;

const shown = (column: string) => `substr(${column}, 1, ${DISPLAYED_TEXT_MAX})`;
/** The columns as text for display, cut. */
const DISPLAYED = `id || '' as "id", client_id as "clientId", ${shown('client_secret')} as "clientSecret",
  ${shown('client_name')} as "clientName", ${shown('scope')} as "scope"`;

/** No text is behind all that begin with another one, and a byte that UTF-8 never has is behind all characters. */
const PAGE = `from clients
  where client_id >= max(?1, coalesce(?2, '')) and client_id is not ?2 and client_id < ?1 || cast(x'ff' as text)
  order by client_id limit ${PAGE_SIZE}`;
const LIST = `select ${DISPLAYED} ${PAGE}`;
/** With the bytes of a row, whose texts are cut if it is too long. */
const EXPORT = `select ${DISPLAYED}, octet_length(client_id) + octet_length(client_secret) + octet_length(client_name) + octet_length(scope) as size ${PAGE}`;
const FIND = `select ${DISPLAYED} from clients where client_id = ?`;
const FIND_WHOLE = `select ${FIELDS} from clients where client_id = ?`;
const INSERT = `insert into clients (client_id, client_secret, client_name, scope) values (?, ?, ?, ?)
  on conflict do nothing returning ${DISPLAYED}`;
const CHANGE = 'update clients set client_secret = ?2, client_name = ?3, scope = ?4 where id = ?1';
const REMOVE = 'delete from clients where client_id = ?';

/**
 * The registrations in a file, to manage them. Each change is one transaction, in which nothing else runs: another program waits
 * for the lock, and the service reads what was there before.
 */
export class SqliteClientStore implements ClientStore {
  readonly #path: string;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;
  #opened: DatabaseSync | undefined;
  #import: ClientImport | undefined;

  /** The file is opened at the first use. It has to exist. */
  constructor(path: string, recorder?: ChangeRecorder<ClientChange>) {
    this.#path = path;
    this.#recorder = recorder;
  }

  async *list({ prefix, after }: ClientRange): AsyncGenerator<readonly ClientRegistrationFields[]> {
    let last = after;
    for (let size = PAGE_SIZE; size === PAGE_SIZE; ) {
      const page = this.#use((database) => clientsOf(database, LIST, prefix, last ?? null));
      size = page.length;
      last = page.at(-1)?.clientId;
      if (size > 0) yield page;
    }
  }

  async *export({ prefix, after }: ClientRange): AsyncGenerator<readonly ExportedClient[]> {
    let last = after ?? null;
    for (let size = 1; size > 0; ) {
      // What is read in a transaction is of one moment.
      const page = this.#use((database) => inTransaction(database, () => exported(database, prefix, last), 'begin'));
      size = page.length;
      last = page.at(-1)?.clientId ?? last;
      if (size > 0) yield page;
    }
  }

  async summarize(clients: readonly ClientRegistrationFields[], now: number): Promise<readonly ValidDetails[]> {
    return this.#use((database) => summarizeDetails(database, clients, now));
  }

  async find(clientId: string): Promise<FoundClients> {
    return this.#use((database) => {
      const clients = clientsOf(database, FIND, clientId);
      return { clients, details: clients[0] === undefined ? NO_DETAILS : findDetails(database, clients[0].id) };
    });
  }

  async add({ details, clientId, clientSecret, clientName, scope }: NewClient): Promise<FoundClients | undefined> {
    return this.#transaction((database, note) => {
      const [client] = clientsOf(database, INSERT, clientId, clientSecret, clientName, scope);
      if (client === undefined) return undefined;
      const stored = replaceDetails(database, client.id, { ...NO_DETAILS, ...details });
      note({ after: { client, details: stored } });
      return { clients: [client], details: stored };
    });
  }

  async startImport(): Promise<ClientImport> {
    await this.#import?.close();
    this.#import = this.#use((database) => new SqliteClientImport(database, this.#path, this.#recorder));
    return this.#import;
  }

  async change<Problem>(
    clientId: string,
    edit: (stored: ChangeableClient) => Result<ClientEdit, Problem>,
  ): Promise<Result<FoundClients, Problem | 'client_unknown'>> {
    return this.#transaction((database, note) => {
      const [stored] = clientsOf(database, FIND_WHOLE, clientId);
      if (stored === undefined) return failure('client_unknown');
      const before = { client: stored, details: findDetails(database, stored.id) };
      const edited = edit({ ...stored, details: before.details });
      if (!edited.ok) return edited;
      const { details: next = before.details, ...fields } = edited.value;
      const client = { ...stored, ...fields };
      database.prepare(CHANGE).run(Number(client.id), client.clientSecret, client.clientName, client.scope);
      const after = { client, details: replaceDetails(database, client.id, next, before.details) };
      if (!isDeepStrictEqual(before, after)) note({ before, after });
      return success({ clients: [client], details: after.details });
    });
  }

  async remove(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    return this.#transaction((database, note) => {
      const removed = clientsOf(database, FIND, clientId);
      for (const client of removed) note({ before: { client, details: findDetails(database, client.id) } });
      database.prepare(REMOVE).run(clientId);
      return removed;
    });
  }

  async close(): Promise<void> {
    await this.#import?.close();
    if (this.#opened !== undefined) closeKeepingLog(this.#opened, this.#path);
    this.#opened = undefined;
  }

  /** @param work calls `note` with the client that it has changed. */
  #transaction<Outcome>(
    work: (database: DatabaseSync, note: (changed: ChangedRegistration) => void) => Outcome,
  ): Outcome {
    return this.#use((database) => {
      const clients: ChangedRegistration[] = [];
      return inTransaction(database, () => {
        const outcome = work(database, (changed) => clients.push(changed));
        commitRecorded(database, clients.length === 0 ? undefined : { kind: 'clients', clients }, this.#recorder);
        return outcome;
      });
    });
  }

  #use<Outcome>(work: (database: DatabaseSync) => Outcome): Outcome {
    this.#opened ??= openMigrated(this.#path, 'refuse').database;
    try {
      return work(this.#opened);
    } catch (fault) {
      throw storeFault(this.#path, fault);
    }
  }
}

/** The first clients of a page, until they have EXPORTED_PAGE_BYTES_MAX; at least one. */
function exported(database: DatabaseSync, prefix: string, last: string | null): readonly ExportedClient[] {
  const page: ExportedClient[] = [];
  const [read, whole] = [measuringReader(database), database.prepare(FIND_WHOLE)];
  let bytes = 0;
  for (const row of database.prepare(EXPORT).iterate(prefix, last)) {
    const { size: own, ...shown } = row as unknown as ClientRegistrationFields & { readonly size: number };
    const { size, details } = read(shown.id, own);
    bytes += size;
    if (page.length > 0 && bytes > EXPORTED_PAGE_BYTES_MAX) break;
    page.push({ ...shown, ...(details !== undefined && whole.get(shown.clientId)), details });
  }
  return page;
}

function clientsOf(database: DatabaseSync, statement: string, ...values: readonly (string | null)[]) {
  const rows = database.prepare(statement).all(...values) as unknown as readonly ClientRegistrationFields[];
  // Rows have no prototype.
  return rows.map((row) => ({ ...row }));
}
