import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

/** Why the file of the registrations cannot be used, in words for an operator. The message ends in the cure. */
export class FileUnusable extends Error {
  readonly cure: string;
  /** Whether the service would find the same at each further attempt, so that it had better not start. */
  readonly lasts: boolean;

  constructor(path: string, problem: string, cure: string, lasts = true) {
    super(`${path} ${problem}: ${cure}`);
    this.name = 'FileUnusable';
    this.cure = cure;
    this.lasts = lasts;
  }
}

/** Result codes of SQLite, without their extensions (sqlite.org/rescode.html), by what they mean here. */
const PROBLEMS: Readonly<Record<number, readonly [problem: string, cure: string, lasts?: boolean]>> = {
  1: ['has tables or texts that this service has not written', 'restore it from a backup'],
  5: ['is locked by another program', 'find it with fuser, and end it or wait for it', false],
  8: [
    'or its folder is read-only',
    'let this user write to both; to read, -wal and -shm beside it suffice, which npm run migrate creates',
  ],
  10: ['cannot be read or written', 'look for the fault of the disk in the log of the system', false],
  11: ['is damaged', 'restore it from a backup'],
  13: ['has no space left on its disk', 'make room', false],
  14: ['cannot be opened', 'let this user read it, and read or create -wal and -shm beside it'],
  26: ['is not a database of SQLite', 'correct DATABASE_FILE'],
};
const CONSTRAINT = 19;

/** The result code of SQLite; undefined if it has not answered. */
function codeOf(fault: unknown): number | undefined {
  const code: unknown = Object(fault).errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** What a fault of SQLite means for this file. Everything else stays what it is. */
export function explain(path: string, fault: unknown): unknown {
  const code = codeOf(fault);
  if (code === undefined) return fault;
  if (code === 14 && !exists(path)) return missing(path);
  const [problem, cure, lasts] = PROBLEMS[code] ?? [`fails with code ${code} of SQLite`, 'restore it from a backup'];
  return new FileUnusable(path, problem, cure, lasts);
}

export function missing(path: string): FileUnusable {
  return exists(dirname(path))
    ? new FileUnusable(path, 'does not exist', 'npm run migrate creates it')
    : new FileUnusable(path, 'is in a folder that does not exist', 'create the folder, or correct DATABASE_FILE');
}

export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** A fault of the client store, as its port promises it. A bug in this program stays what it is, and so does the fault of a change that could not be recorded. */
export function storeFault(path: string, fault: unknown): unknown {
  if (codeOf(fault) === CONSTRAINT) return new ValueRefused(fault);
  const explained = explain(path, fault);
  return explained instanceof FileUnusable ? new DependencyUnavailable('client store', explained) : fault;
}
