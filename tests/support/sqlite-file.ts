import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { readDetails } from '../../adapters/files/clients-file.ts';
import { SqlClientStore } from '../../adapters/sql/sql-client-store.ts';
import { openClientsFile } from '../../adapters/sqlite/clients-program/sqlite-clients-database.ts';
import { migrateFile } from '../../adapters/sqlite/migrate-file.ts';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type { ClientChange, ClientStore } from '../../application/ports/client-store.ts';
import type { NewClient } from '../../domain/client-registration.ts';

/** A file of registrations in its own folder. */
export interface SqliteFile extends AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  add(client: NewClient): Promise<void>;
  /** Runs a statement as another program does that has the file open for it. */
  run(statement: string, ...values: readonly SQLInputValue[]): void;
  remove(): Promise<void>;
}

export async function createSqliteFile(): Promise<SqliteFile> {
  const folder = await mkdtemp(join(tmpdir(), 'sqlite-'));
  const path = join(folder, 'clients.db');
  await migrateFile(path);
  const remove = () => rm(folder, { recursive: true });
  return {
    folder,
    path,
    async add(client) {
      const store = new SqlClientStore(openClientsFile(path), readDetails);
      await store.add(client);
      await store.close();
    },
    run(statement, ...values) {
      const database = new DatabaseSync(path);
      database.prepare(statement).run(...values);
      database.close();
    },
    remove,
    [Symbol.asyncDispose]: remove,
  };
}

export interface SqliteStore extends ClientStore, Pick<SqliteFile, 'run'> {
  close(): Promise<void>;
}

/** An empty store, for tests of use cases. Its end removes the file. */
export async function openSqliteStore(recorder?: ChangeRecorder<ClientChange>): Promise<SqliteStore> {
  const file = await createSqliteFile();
  const store = new SqlClientStore(openClientsFile(file.path), readDetails, recorder);
  const closeStore = store.close.bind(store);
  return Object.assign(store, {
    run: file.run,
    async close() {
      await closeStore();
      await file.remove();
    },
  });
}
