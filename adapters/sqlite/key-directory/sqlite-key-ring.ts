import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { Dependency, Readiness } from '../../../application/ports/health-check.ts';
import type { Problem } from '../../../domain/problem.ts';
import type { SqlConnection, SqlDatabase } from '../../sql/sql-database.ts';
import { connectionTo, SQLITE } from '../file-connection.ts';
import { exists, explain, FileUnusable } from '../file-fault.ts';
import { readHeader } from '../file-schema.ts';
import { creationOfTables } from '../migrations.ts';

/** In the header of the file: "ccak" in ASCII. */
const APPLICATION_ID = 0x6363616b;
const VERSION = 1;

/** How long a statement waits for a lock, in milliseconds. No request is answered meanwhile. */
const BUSY_MS = 100;

const MISSING =
  'restore it from a backup; a start of the service creates an empty one, and ends all tokens of the keys that are lost';

const RESTORE = 'restore it from a backup before the next start of the service, which ends all tokens without it';

/** The file of the ring beside that of the registrations. */
export function keyRingFileOf(registrations: string): string {
  return `${registrations}.keys`;
}

/** Creates the file if it is missing, for its owner only. Throws FileUnusable if that is impossible. */
export async function createKeyRingFile(path: string): Promise<void> {
  try {
    if (!exists(path)) closeSync(openSync(path, 'a', 0o600));
    const database = openFile(path);
    try {
      if (!readHeader(database).isEmpty) return;
      const created = await creationOfTables('key_ring', 'revocations', 'last_used');
      database.exec('begin immediate');
      // Another program was faster.
      if (readHeader(database).isEmpty) {
        database.exec(`${created.join('\n')}
          pragma application_id = ${APPLICATION_ID}; pragma user_version = ${VERSION}`);
      }
      database.exec('commit');
    } finally {
      database.close();
    }
  } catch (fault) {
    const explained = explain(path, fault);
    if (!(explained instanceof FileUnusable) || explained.lasts) throw explained;
  }
}

/**
 * The key ring in its own file, beside that of the registrations, which the service only reads. It is opened for each
 * use, some times a minute: so it may be replaced by a backup at any time.
 */
export function keyRingFile(path: string): SqlDatabase & Pick<Dependency, 'readiness'> {
  let note: Problem | undefined;
  async function connect(): Promise<SqlConnection> {
    if (!exists(path)) throw new FileUnusable(path, 'does not exist', MISSING);
    const database = openFile(path);
    return {
      ...connectionTo(database),
      begin: async () => database.exec('begin immediate'),
      // A transaction that is open ends with it.
      release(isBroken) {
        database.close();
        if (!isBroken) note = undefined;
      },
    };
  }
  function faultOf(fault: unknown): unknown {
    const explained = explain(path, fault);
    if (!(explained instanceof FileUnusable)) return fault;
    note = explained.lasts ? { ...explained.problem, fix: RESTORE } : explained.problem;
    return new DependencyUnavailable('key directory', explained);
  }
  /** The key ring reports itself whether a key may sign. */
  const readiness = (): Readiness => ({ ready: true, ...(note && { note }) });
  // A service that keeps keys, or revoked tokens, creates it.
  const isMissing = () => !existsSync(path);
  return { ...SQLITE, connect, faultOf, isMissing, readiness, close: async () => {} };
}

/** Throws FileUnusable if another program has written the file, and the faults of SQLite. */
function openFile(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    const { owner, version, isEmpty } = readHeader(database);
    if (!isEmpty && (owner !== APPLICATION_ID || version !== VERSION)) {
      throw new FileUnusable(path, 'is no key ring of this version', 'move it away, or restore it from a backup');
    }
    return database;
  } catch (fault) {
    database.close();
    throw fault;
  }
}
