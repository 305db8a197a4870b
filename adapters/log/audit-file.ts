import { constants, open, openSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ChangeLog } from '../../application/ports/change-log.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { auditLine } from './json-audit-log.ts';
import { codeOf, writeNow } from './write-now.ts';

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

/** How long a program waits for the slow reader of a pipe, in milliseconds: with one line, and with all lines of a change. */
const READER_WAIT_MS = 1_000;
const READER_WAIT_OF_CHANGE_MS = 60_000;

interface ProgramChangeLogOptions {
  /** Opens the file, or standard error, and returns its descriptor; called for the first line. */
  readonly open: () => number;
  /** Whether it ends within a line: a line feed comes first. */
  readonly isCut: boolean;
  /** Fields of every line. */
  readonly base: object;
  /** Whether a change may be made only if its line is written. */
  readonly isRequired: boolean;
  /** Called with the reason if the lines of a change could not all be written, and are optional. */
  readonly onLost: (reason: string) => void;
  /** By default the one that waits for the system. */
  readonly append?: typeof writeNow;
}

/** The audit lines of a program that runs once: each is written when it is made, and read-only commands open nothing. */
export function programChangeLog(options: ProgramChangeLogOptions) {
  const { open, base, isRequired, onLost, append = writeNow } = options;
  let descriptor: number | undefined;
  let { isCut } = options;
  let change = { id: '', waitsUntil: 0, isLost: false };
  return {
    record(event: Parameters<ChangeLog['record']>[0]): void {
      const now = performance.now();
      const isUnconfirmed = event.event === 'change_unconfirmed';
      if (event.change_id !== change.id) {
        change = { id: event.change_id, waitsUntil: now + READER_WAIT_OF_CHANGE_MS, isLost: false };
      }
      // The other lines of a large change would each wait as long.
      if (change.isLost && !isUnconfirmed) return;
      const giveUpAt = now + READER_WAIT_MS;
      try {
        descriptor ??= open();
        const line = `${isCut ? '\n' : ''}${auditLine(event, base)}`;
        isCut = true;
        append(descriptor, line, isUnconfirmed ? giveUpAt : Math.min(giveUpAt, change.waitsUntil));
        isCut = false;
      } catch (fault) {
        if (isRequired && !isUnconfirmed) throw new DependencyUnavailable('audit log', fault);
        change.isLost = true;
        onLost(fault instanceof Error ? fault.message : codeOf(fault));
      }
    },
  };
}
