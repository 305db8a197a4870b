import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { commitRecorded } from '../../../application/commit-recorded.ts';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import {
  type KeyRingChange,
  type KeyRingRecords,
  UNKNOWN_KEPT_SECONDS,
} from '../../../application/ports/key-ring-records.ts';
import {
  KEPT_SECONDS,
  KEY_ROWS_MAX,
  type KeyRingStore,
  type KeyRow,
  type KeyRows,
  type SealedKey,
} from '../../../application/ports/key-ring-store.ts';
import { exists, explain, FileUnusable } from '../file-fault.ts';
import { readNumber } from '../file-schema.ts';
import { inTransaction } from '../migrate-file.ts';

/** In the header of the file: "ccak" in ASCII. */
const APPLICATION_ID = 0x6363616b;
const VERSION = 1;

/** How long a statement waits for a lock, in milliseconds. No request is answered meanwhile. */
const BUSY_MS = 100;

const NOW = "unixepoch('now')";

const CREATE = `create table if not exists key_ring (
  kid text primary key,
  algorithm text,
  step integer,
  sealed text,
  created_at integer not null,
  known_at integer not null,
  signs_from integer not null,
  verifies_until integer not null,
  ended_at integer,
  revoked_at integer,
  unique (algorithm, step)) strict, without rowid;
  pragma application_id = ${APPLICATION_ID}; pragma user_version = ${VERSION}`;

const READ = `select kid, algorithm, step, sealed, created_at as "createdAt", known_at as "knownAt", signs_from as "signsFrom",
  verifies_until as "verifiesUntil", ended_at as "endedAt", revoked_at as "revokedAt" from key_ring limit ${KEY_ROWS_MAX + 1}`;

const DELETE_ENDED = `delete from key_ring where verifies_until < ${NOW} - ${KEPT_SECONDS}`;

const ADD = `insert into key_ring (kid, algorithm, step, sealed, created_at, known_at, signs_from, verifies_until)
  select ?, ?, ?, ?, ${NOW}, ${NOW} + ?, ?, ? where ${NOW} < ? on conflict do nothing`;

const REVOKED = `revoked_at = ${NOW}, sealed = null`;
const REVOKE_KEY = `insert into key_ring (kid, created_at, known_at, signs_from, verifies_until, revoked_at)
  values (?, ${NOW}, ${NOW}, ${NOW}, ${NOW} + ${UNKNOWN_KEPT_SECONDS}, ${NOW})
  on conflict (kid) do update set ${REVOKED} where revoked_at is null returning kid, verifies_until`;
const REVOKE_ALL = `update key_ring set ${REVOKED} where revoked_at is null returning kid, verifies_until`;
const END_KEY = `update key_ring set ended_at = ?2
  where kid = ?1 and revoked_at is null and (ended_at is null or ended_at > ?2) returning kid, verifies_until`;

const MISSING =
  'restore it from a backup, or start the service with KEY_DIRECTORY=database, which creates an empty one';

/** The file of the ring beside that of the registrations. */
export function keyRingFileOf(registrations: string): string {
  return `${registrations}.keys`;
}

type Recorder = ChangeRecorder<readonly KeyRingChange[]>;

/**
 * The key ring in its own file, beside that of the registrations, which the service only reads. It is opened for each
 * use, some times a minute: so it may be replaced by a backup at any time.
 */
export class SqliteKeyRing implements KeyRingStore, KeyRingRecords {
  readonly #path: string;
  readonly #recorder: Recorder | undefined;

  private constructor(path: string, recorder?: Recorder) {
    this.#path = path;
    this.#recorder = recorder;
  }

  /** For the service, which creates the file if it is missing, for its owner only. Throws FileUnusable if that is impossible. */
  static create(path: string): SqliteKeyRing {
    try {
      if (!exists(path)) closeSync(openSync(path, 'a', 0o600));
      use(path, (database) => database.exec(CREATE));
    } catch (fault) {
      const explained = explain(path, fault);
      if (!(explained instanceof FileUnusable) || explained.lasts) throw explained;
    }
    return new SqliteKeyRing(path);
  }

  /** For an operator. The file has to exist. */
  static open(path: string, recorder?: Recorder): SqliteKeyRing {
    return new SqliteKeyRing(path, recorder);
  }

  async read(): Promise<KeyRows> {
    return this.#use((database) => {
      const rows = database.prepare(READ).all() as unknown as readonly KeyRow[];
      if (rows.length > KEY_ROWS_MAX) throw new Error(`the table key_ring has more than ${KEY_ROWS_MAX} rows`);
      const withoutNulls = (row: KeyRow) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined]));
      const time = readNumber(database, "select unixepoch('subsec')");
      return { rows: rows.map((row) => withoutNulls(row) as unknown as KeyRow), time };
    });
  }

  async add({ kid, algorithm, step, sealed, publicationSeconds, ...times }: SealedKey): Promise<void> {
    const { signsFrom, verifiesUntil, addedBefore } = times;
    const values = [kid, algorithm, step, sealed, publicationSeconds, signsFrom, verifiesUntil, addedBefore];
    this.#use((database) =>
      inTransaction(database, () => {
        database.exec(DELETE_ENDED);
        database.prepare(ADD).run(...values);
      }),
    );
  }

  list(): Promise<KeyRows> {
    return this.read();
  }

  async revoke(which: { readonly kid: string } | 'all'): Promise<readonly string[]> {
    const known = new Set((await this.read()).rows.map(({ kid }) => kid));
    const [text, values] = which === 'all' ? [REVOKE_ALL, []] : [REVOKE_KEY, [which.kid]];
    return this.#change(text, values, (kid, verifiesUntil) => ({
      change: 'revoked',
      kid,
      verifiesUntil: known.has(kid) ? verifiesUntil : undefined,
    }));
  }

  async end(kid: string, endsAt: number): Promise<void> {
    this.#change(END_KEY, [kid, endsAt], () => ({ change: 'ended', kid, endsAt }));
  }

  async close(): Promise<void> {}

  /** Commits once the changes are recorded. */
  #change(
    text: string,
    values: readonly SQLInputValue[],
    changeOf: (kid: string, verifiesUntil: number) => KeyRingChange,
  ): readonly string[] {
    return this.#use((database) =>
      inTransaction(database, () => {
        const rows = database.prepare(text).all(...values);
        const changes = rows.map((row) => changeOf(String(row['kid']), Number(row['verifies_until'])));
        if (changes.length > 0) commitRecorded(this.#recorder, changes, undefined, () => database.exec('commit'));
        return changes.map(({ kid }) => kid);
      }),
    );
  }

  #use<Outcome>(work: (database: DatabaseSync) => Outcome): Outcome {
    try {
      if (!exists(this.#path)) throw new FileUnusable(this.#path, 'does not exist', MISSING);
      return use(this.#path, work);
    } catch (fault) {
      const explained = explain(this.#path, fault);
      if (explained instanceof FileUnusable) throw new DependencyUnavailable('key directory', explained);
      throw fault;
    }
  }
}

/** Throws FileUnusable if another program has written the file, and the faults of SQLite. */
function use<Outcome>(path: string, work: (database: DatabaseSync) => Outcome): Outcome {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    const [owner, version] = ['application_id', 'user_version'].map((name) => readNumber(database, `pragma ${name}`));
    const isEmpty = owner === 0 && readNumber(database, 'select count(*) from sqlite_schema') === 0;
    if (!isEmpty && (owner !== APPLICATION_ID || version !== VERSION)) {
      throw new FileUnusable(path, 'is no key ring of this version', 'move it away, or restore it from a backup');
    }
    return work(database);
  } finally {
    database.close();
  }
}
