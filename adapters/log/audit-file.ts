import { closeSync, constants, openSync, statSync } from 'node:fs';
import { codeOf } from './write-whole.ts';

/** Created for its owner only. Lines are appended (O_APPEND), so that several processes can write to one file. A pipe does not block. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;
const MODE = 0o600;

/** What the codes of the system mean for somebody who has to correct the setting. */
const CAUSES: Readonly<Record<string, string>> = {
  ENOENT: 'its directory does not exist',
  ENOTDIR: 'its directory does not exist',
  EISDIR: 'it is a directory',
  EACCES: 'the user of this process may not write to it',
  EROFS: 'its file system is read-only',
  ENXIO: 'it is a pipe that nothing reads',
};

/** Opens a file for audit lines, and returns its descriptor. Throws an error that names the setting and not the path. */
export function openAuditFile(path: string): number {
  try {
    return openSync(path, FLAGS, MODE);
  } catch (fault) {
    const code = codeOf(fault);
    const cause = CAUSES[code] === undefined ? '' : `: ${CAUSES[code]}`;
    throw new Error(`AUDIT_FILE: cannot be opened for writing${cause} (${code})`, { cause: fault });
  }
}

/**
 * Why a file cannot be used, if it cannot. Otherwise creates it, so that a later fault is a fault of the system. A pipe is not
 * opened: its reader would end when it is closed again.
 */
export function auditFileProblem(path: string): readonly string[] {
  try {
    if (!isPipe(path)) closeSync(openAuditFile(path));
    return [];
  } catch (problem) {
    return [problem instanceof Error ? problem.message : 'AUDIT_FILE: cannot be opened for writing'];
  }
}

function isPipe(path: string): boolean {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false;
  }
}
