import { type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { BRING_BACK } from '../../application/client-lookup.ts';
import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { inWords, type Problem } from '../../domain/problem.ts';

/** Why the file of the registrations cannot be used. */
export class FileUnusable extends Error {
  readonly problem: Problem;
  /** Whether the service would find the same at each further attempt, so that it had better not start. */
  readonly lasts: boolean;

  constructor(path: string, problem: string, fix: string, lasts = true) {
    const carried = { code: 'DATABASE_FILE', text: `${path} ${problem}`, fix };
    super(inWords(carried));
    this.name = 'FileUnusable';
    this.problem = carried;
    this.lasts = lasts;
  }
}

type FileProblem = readonly [problem: string, fix: string, lasts?: boolean];

const NO_RIGHT: FileProblem = [
  'cannot be opened or created by this user',
  'give this user the rights to the file and its folder, or set DATABASE_FILE to another file',
];
const NO_SPACE: FileProblem = ['has no space left on its disk', 'make room', false];
const NO_FOLDER: FileProblem = ['is in a folder that does not exist', 'create the folder, or correct DATABASE_FILE'];
const IS_FOLDER: FileProblem = ['is a folder', 'name a file in it'];
const IN_FILE: FileProblem = ['is in a file, which is no folder', 'correct DATABASE_FILE'];

/** Result codes of SQLite, without their extensions (sqlite.org/rescode.html), by what they mean here. */
const PROBLEMS: Readonly<Record<number, FileProblem>> = {
  1: ['has tables or texts that this service has not written', 'restore it from a backup'],
  5: ['is locked by another program', 'find it with fuser, and end it or wait for it', false],
  8: [
    'or its folder is read-only',
    'let this user write to both; to read, -wal and -shm beside it suffice, which npm run migrate creates',
  ],
  10: ['cannot be read or written', 'look for the fault of the disk in the log of the system', false],
  11: ['is damaged', 'restore it from a backup'],
  13: NO_SPACE,
  14: ['cannot be opened', 'let this user read it, and read or create -wal and -shm beside it'],
  26: ['is not a database of SQLite', 'correct DATABASE_FILE'],
};
const CONSTRAINT = 19;

/** Codes of the system, for the file or a folder on its path. */
const SYSTEM_PROBLEMS: Readonly<Record<string, FileProblem>> = {
  EACCES: NO_RIGHT,
  EPERM: NO_RIGHT,
  EROFS: ['is on a file system that is read-only', 'set DATABASE_FILE to a file elsewhere'],
  ENOSPC: NO_SPACE,
  EDQUOT: NO_SPACE,
  ENOENT: NO_FOLDER,
  ENOTDIR: IN_FILE,
  EEXIST: IN_FILE,
  EISDIR: IS_FOLDER,
  ELOOP: ['is behind symbolic links that lead in a circle', 'correct DATABASE_FILE'],
  ENAMETOOLONG: ['has a name that is too long', 'correct DATABASE_FILE'],
};

/** The result code of SQLite; undefined if it has not answered. */
export function codeOf(fault: unknown): number | undefined {
  const code: unknown = Object(fault).errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** What a fault of SQLite, or of the system about this path, means for this file. Everything else stays what it is. */
export function explain(path: string, fault: unknown): unknown {
  const code = codeOf(fault);
  if (code === undefined) return explainSystem(path, fault);
  try {
    if (code === 14 && !exists(path)) return missing(path);
  } catch (reason) {
    return explainSystem(path, reason);
  }
  const [problem, fix, lasts] = PROBLEMS[code] ?? [`fails with code ${code} of SQLite`, 'restore it from a backup'];
  return new FileUnusable(path, problem, fix, lasts);
}

/** A fault that names another file, such as that of the audit log, is not about this one. */
function explainSystem(path: string, fault: unknown): unknown {
  const { code, path: named } = Object(fault);
  if (typeof code !== 'string' || typeof named !== 'string' || !path.startsWith(named)) return fault;
  const other: FileProblem = [`cannot be opened (${code})`, 'look for the fault in the log of the system', false];
  return new FileUnusable(path, ...(SYSTEM_PROBLEMS[code] ?? other));
}

export const MIGRATE = `npm run migrate creates it; if it was there before, ${BRING_BACK}`;

/** @param fix if only the file is missing. */
export function missing(path: string, fix = MIGRATE): FileUnusable {
  const folder = found(dirname(path));
  if (folder?.isDirectory()) return new FileUnusable(path, 'does not exist', fix);
  return new FileUnusable(path, ...(folder ? IN_FILE : NO_FOLDER));
}

/** Throws FileUnusable if it is no file: a pipe would block, and a folder looks like a fault of the disk. */
export function exists(path: string): boolean {
  const stats = found(path);
  if (stats?.isDirectory()) throw new FileUnusable(path, ...IS_FOLDER);
  if (stats?.isFile() === false) throw new FileUnusable(path, 'is a device, a pipe or a socket', 'name a file');
  return stats !== undefined;
}

function found(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/**
 * A fault of the client store, as its port promises it. A bug in this program stays what it is, and so does the fault
 * of a change that could not be recorded.
 */
export function storeFault(path: string, fault: unknown): unknown {
  if (codeOf(fault) === CONSTRAINT) return new ValueRefused(fault);
  const explained = explain(path, fault);
  return explained instanceof FileUnusable ? new DependencyUnavailable('client store', explained) : fault;
}
