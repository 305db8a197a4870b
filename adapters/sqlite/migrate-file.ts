import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { exists, MIGRATE, missing, storeFault } from './file-fault.ts';
import { APPLICATION_ID, migrationsAfter, SCHEMA_VERSION, schemaVersion } from './file-schema.ts';

/** How long a program waits for another one that writes, in milliseconds. */
export const BUSY_MS = 10_000;

/** Opens the file to write. Throws FileUnusable and the faults of SQLite and the system. */
function openToWrite(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    schemaVersion(database, path);
    // Readers never wait for a writer then.
    database.exec('pragma journal_mode = wal');
  } catch (fault) {
    database.close();
    throw fault;
  }
  return database;
}

/**
 * Closes the file so that `-wal` and `-shm` stay beside it: a service that may only read the folder needs them, and
 * cannot create them. SQLite removes them with the last connection that may write.
 */
export function closeKeepingLog(database: DatabaseSync, path: string): void {
  let reader: DatabaseSync | undefined;
  try {
    reader = new DatabaseSync(path, { readOnly: true });
    reader.prepare('select 1 from sqlite_schema').get();
    // Not while another program writes. What is committed counts wherever it is stored.
    database.exec('pragma busy_timeout = 0; pragma wal_checkpoint(truncate)');
  } catch {
    // The file was deleted or cannot be read any more, which the work on it has found out if that matters.
  } finally {
    database.close();
    reader?.close();
  }
}

/** Runs `work` in one transaction. Nothing else runs meanwhile, in this program. */
function inTransaction<Outcome>(database: DatabaseSync, work: () => Outcome): Outcome {
  database.exec('begin immediate');
  try {
    const outcome = work();
    if (database.isTransaction) database.exec('commit');
    return outcome;
  } finally {
    if (database.isTransaction) database.exec('rollback');
  }
}

/**
 * Opens the file, creates it if it is missing, for its owner only, and runs its migrations, all in one transaction. Of
 * several programs that do this at once, one does the work; with `refuse`, none: the file must have been migrated.
 * Throws DependencyUnavailable if the file cannot be used.
 */
export async function openMigrated(
  path: string,
  lacking: 'create' | 'refuse' = 'create',
): Promise<{ readonly database: DatabaseSync; readonly done: readonly string[] }> {
  let database: DatabaseSync | undefined;
  try {
    if (!exists(path)) {
      if (lacking === 'refuse') throw missing(path);
      closeSync(openSync(path, 'a', 0o600));
    }
    const opened = openToWrite(path);
    database = opened;
    const version = schemaVersion(opened, path, lacking === 'refuse' ? MIGRATE : undefined);
    if (version === SCHEMA_VERSION) return { database, done: [] };
    const migrations = await migrationsAfter(version);
    const done = inTransaction(opened, () => {
      // Another program was faster.
      if (schemaVersion(opened, path) !== version) return [];
      for (const statement of migrations.flatMap(({ statements }) => statements)) opened.exec(statement);
      opened.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`);
      return migrations.map(({ name }) => `Migrated: ${name}`);
    });
    return { database, done };
  } catch (fault) {
    database?.close();
    throw storeFault(path, fault);
  }
}

/** Creates and migrates the file. Returns what was done; for a dry run, which changes nothing, the statements. */
export async function migrateFile(path: string, isDryRun = false): Promise<readonly string[]> {
  if (isDryRun) return pendingStatements(path);
  const { database, done } = await openMigrated(path);
  closeKeepingLog(database, path);
  return done;
}

async function pendingStatements(path: string): Promise<readonly string[]> {
  const migrations = await migrationsAfter(versionOf(path));
  return migrations.flatMap(({ statements }) => statements.map((statement) => statement.replace(/;?$/, ';')));
}

/** 0 of a file that does not exist yet. */
function versionOf(path: string): number {
  try {
    if (!exists(path)) return 0;
    const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    try {
      return schemaVersion(database, path);
    } finally {
      database.close();
    }
  } catch (fault) {
    throw storeFault(path, fault);
  }
}
