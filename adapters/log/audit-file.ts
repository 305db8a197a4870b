import { constants, open, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { codeOf } from './write-now.ts';

/**
 * Created for its owner only. Lines are appended (O_APPEND), so that several processes can write to one file. A pipe
 * does not block.
 */
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

/** Opens a file for audit lines. Returns its descriptor. Throws an error that names the setting, not the path. */
export function openAuditFile(path: string): number {
  try {
    return openSync(path, FLAGS, MODE);
  } catch (fault) {
    throw unusable(fault);
  }
}

/** The same in a thread of the pool. */
export async function openAuditFileAgain(path: string): Promise<number> {
  try {
    return await promisify(open)(path, FLAGS, MODE);
  } catch (fault) {
    throw unusable(fault);
  }
}

function unusable(fault: unknown): Error {
  const code = codeOf(fault);
  const cause = CAUSES[code] === undefined ? '' : `: ${CAUSES[code]}`;
  return new Error(`AUDIT_FILE: cannot be opened for writing${cause} (${code})`, { cause: fault });
}
