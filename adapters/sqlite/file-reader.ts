import { realpathSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BRING_BACK, type BrokenRegistration, NO_CLIENT } from '../../application/client-lookup.ts';
import { PeriodicTask } from '../../application/periodic-task.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { Dependency, Readiness } from '../../application/ports/health-check.ts';
import type { StatementTimes } from '../../application/ports/telemetry.ts';
import { problemIn } from '../../domain/problem.ts';
import { exists, explain, FileUnusable, MIGRATE, missing } from './file-fault.ts';
import { schemaVersion } from './file-schema.ts';

/** What an operator needs to know about the file, apart from requests. */
type FileLine =
  | { readonly event: 'database_available' }
  | { readonly event: 'database_unavailable'; readonly fix?: string | undefined; readonly fault: unknown }
  | BrokenRegistration;

/** Takes lines of the log. Never throws. */
export type FileLog = (line: FileLine) => void;

/** Milliseconds between two looks at the file: one that is well, and one that is not. */
const WELL_INTERVAL_MS = 1_000;
const FAULT_INTERVAL_MS = 250;

/**
 * How long a statement waits for a lock. No other request is answered meanwhile, and no reader waits for a writer
 * (WAL).
 */
const BUSY_MS = 100;

/**
 * The file of the registrations, only read, and never created or changed. Statements are synchronous: they take some 10
 * microseconds, and no deadline can end one that waits for the disk.
 *
 * After a fault, statements throw at once until a look at the file has succeeded. Such a look also finds out that the
 * file was replaced, overwritten or deleted, or its -wal or -shm, and then opens it again.
 */
export class FileReader implements Dependency {
  readonly name = 'client repository';
  readonly #path: string;
  readonly #log: FileLog;
  readonly #times: StatementTimes | undefined;
  readonly #looking = new PeriodicTask(async () => (this.#look() ? WELL_INTERVAL_MS : FAULT_INTERVAL_MS));
  readonly #statements = new Map<string, StatementSync>();
  /** All statements there have been. The file is of use only if it has their tables and columns. */
  readonly #texts = new Set<string>();
  #database: DatabaseSync | undefined;
  /** Which file is open: the path may lead to another one since. */
  #identity = '';
  #fault: unknown = new Error('not open');
  #wasUsable = false;
  /** Of a row; null in an empty table. */
  #highestId: number | null = 0;
  /** The reason that the log has of the fault that is there now. */
  #logged: string | undefined;

  private constructor(path: string, log: FileLog, times: StatementTimes | undefined) {
    this.#path = path;
    this.#log = log;
    this.#times = times;
  }

  /**
   * Throws FileUnusable if waiting would not help. After any other fault, resolves and continues to try. @param
   * wasUsable it was in use.
   */
  static async open(path: string, log: FileLog, times?: StatementTimes, wasUsable = false): Promise<FileReader> {
    const reader = new FileReader(path, log, times);
    reader.#wasUsable = wasUsable;
    await reader.#looking.start();
    const fault = reader.#fault;
    if (fault !== undefined && !(fault instanceof FileUnusable && !fault.lasts)) {
      await reader.close();
      throw fault;
    }
    return reader;
  }

  /** The highest `id` of a client when the file was last looked at; 0 without one. */
  get highestId(): number {
    return this.#highestId ?? 0;
  }

  readiness(): Readiness {
    if (this.#fault !== undefined) {
      return { ready: false, reason: problemIn(this.#fault) ?? { code: 'fault', text: messageOf(this.#fault) } };
    }
    return { ready: true, ...(this.#highestId === null && { note: NO_CLIENT }) };
  }

  /** The rows of a statement that never changes, as they are stored now. Throws DependencyUnavailable. */
  read<Row>(statement: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    if (this.#fault !== undefined) throw new DependencyUnavailable(this.name, this.#fault);
    const begin = performance.now();
    let outcome: keyof StatementTimes = 'failed';
    try {
      const rows = this.#prepare(statement).all(...values) as unknown as readonly Row[];
      outcome = 'answered';
      return rows;
    } catch (fault) {
      if (!(explain(this.#path, fault) instanceof FileUnusable)) throw fault;
      this.#failed(fault);
      throw new DependencyUnavailable(this.name, this.#fault);
    } finally {
      this.#times?.[outcome]((performance.now() - begin) / 1_000);
    }
  }

  async close(): Promise<void> {
    this.#looking.close();
    this.#fault = new Error('closed');
    this.#closeDatabase();
  }

  #prepare(text: string): StatementSync {
    const database = this.#database;
    if (database === undefined) throw new Error('not open');
    this.#texts.add(text);
    const statement = this.#statements.get(text) ?? database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  /** Opens the file, again if the path leads to another one, and reads its schema. False if it cannot be used. */
  #look(): boolean {
    try {
      const fix = this.#wasUsable ? BRING_BACK : MIGRATE;
      if (!exists(this.#path)) throw missing(this.#path, fix);
      const identity = identityOf(this.#path);
      if (this.#database === undefined || identity !== this.#identity) {
        this.#closeDatabase();
        this.#database = new DatabaseSync(this.#path, { readOnly: true, timeout: BUSY_MS });
        this.#identity = identity;
      }
      schemaVersion(this.#database, this.#path, fix);
      const { highest } = this.#database.prepare('select max(id) as highest from clients').get() ?? {};
      this.#highestId = typeof highest === 'number' ? highest : null;
      for (const text of this.#texts) this.#prepare(text);
    } catch (fault) {
      this.#failed(fault);
      return false;
    }
    this.#fault = undefined;
    this.#wasUsable = true;
    if (this.#logged !== undefined) this.#log({ event: 'database_available' });
    this.#logged = undefined;
    return true;
  }

  #failed(fault: unknown): void {
    this.#fault = explain(this.#path, fault);
    this.#closeDatabase();
    const message = messageOf(this.#fault);
    if (message === this.#logged) return;
    this.#logged = message;
    this.#log({ event: 'database_unavailable', fix: problemIn(this.#fault)?.fix, fault: this.#fault });
  }

  #closeDatabase(): void {
    this.#statements.clear();
    this.#database?.close();
    this.#database = undefined;
  }
}

/**
 * Differs once other files are in the place of these, or others have their contents. SQLite would go on with what it
 * has read before. That a change has moved from `-wal` to the file looks the same, and costs as little.
 */
function identityOf(path: string): string {
  const file = realpathSync(path);
  const { mtimeMs, size } = statSync(file);
  const inodes = ['', '-wal', '-shm'].map((ending) => {
    const found = statSync(file + ending, { throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  });
  return [...inodes, mtimeMs, size].join();
}

function messageOf(fault: unknown): string {
  return String(Object(fault).message);
}
