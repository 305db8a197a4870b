import type { DatabaseSync } from 'node:sqlite';
import { FileUnusable } from './file-fault.ts';
import { MIGRATIONS } from './migrations.ts';

/** In the header of each file of this service: "ccas" in ASCII. */
export const APPLICATION_ID = 0x63636173;

/** The `user_version` of a file that has had the first migration. Smaller numbers are of states before 1.0.0. */
const FIRST_VERSION = 101;

/** The `user_version` of a file that has had all of them. */
export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length - 1;

/** The migrations that a file of this version lacks. */
export async function migrationsAfter(version: number) {
  const lacking = MIGRATIONS.slice(Math.max(0, version - FIRST_VERSION + 1));
  return Promise.all(lacking.map(async ({ name, statements }) => ({ name, statements: await statements() })));
}

/** Without its checks, a column of the table may have a value of any type. */
const FIND_FOREIGN_TABLE = `select name from sqlite_schema where name = 'clients' and sql not like '%check (typeof(client_id) = ''text'')%'`;

/** The number in the header, or of rows. */
function readNumber(database: DatabaseSync, statement: string): number {
  return Number(Object.values(database.prepare(statement).get() ?? {})[0]);
}

/** What the header says of a file: the program that has written it, and its version. */
export function readHeader(database: DatabaseSync) {
  const [owner, version] = [readNumber(database, 'pragma application_id'), readNumber(database, 'pragma user_version')];
  return { owner, version, isEmpty: owner === 0 && readNumber(database, 'select count(*) from sqlite_schema') === 0 };
}

/**
 * The version of the file; 0 for an empty one. Throws FileUnusable if it belongs to another program, or has a newer
 * schema or a table or view in the place of one of these, or with a fix if it has not had all of them; and the faults
 * of SQLite.
 */
export function schemaVersion(database: DatabaseSync, path: string, fix?: string): number {
  const { owner, version, isEmpty } = readHeader(database);
  if (owner !== APPLICATION_ID && !isEmpty) {
    throw new FileUnusable(path, 'is the database of another program', 'correct DATABASE_FILE');
  }
  if (version > 0 && version < FIRST_VERSION) {
    const fix = 'export its clients with the program that has written it, and import them into a new file';
    throw new FileUnusable(path, 'was written by a version before 1.0.0', fix);
  }
  if (version > SCHEMA_VERSION) {
    throw new FileUnusable(path, 'has a newer schema', 'install the version of this service that has migrated it');
  }
  const foreign = database.prepare(FIND_FOREIGN_TABLE).get()?.['name'];
  if (foreign !== undefined) {
    throw new FileUnusable(path, `has a ${foreign} that this service has not created`, 'restore it from a backup');
  }
  if (fix !== undefined && version !== SCHEMA_VERSION)
    throw new FileUnusable(path, 'has no table clients, or an older schema', fix);
  return version;
}
