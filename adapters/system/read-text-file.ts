import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Problem } from '../../domain/problem.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** What the codes of the system mean for somebody who has to correct a path. */
const CAUSES: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `there is no file ${path}`,
  ENOTDIR: (path) => `there is no file ${path}`,
  EACCES: (path) => `the user of this process may not read ${path}`,
  EISDIR: (path) => `${path} is a directory`,
};

/** Reads a text file. Fails with the reason, in words for an operator. */
export type ReadTextFile = (path: string) => Result<string, string>;

/** Of a value that may be a secret. */
const NOT_SHOWN = 'it must be the path of a file, not what the file contains; a relative path begins in';

const NO_END = 'whose writer may never come: name a regular file';

/** What a shell opens for the process, as for `<(command)`. Its writer is there. */
const INHERITED = /^\/(?:dev|proc)\//;

/** The text of a file in UTF-8. Fails with the whole path and the code of the system, in words for an operator. */
export function readTextFile(path: string, flag: number = constants.O_RDONLY): Result<string, string> {
  try {
    if (statSync(path).isFIFO() && !INHERITED.test(path)) return failure(`is a named pipe, ${NO_END}`);
    return decode(readFileSync(path, { flag }));
  } catch (fault) {
    const { code = 'no code' } = fault as NodeJS.ErrnoException;
    return failure(
      `cannot be read: ${code === 'EISDIR' || isPath(path) ? causeOf(code, path) : `${NOT_SHOWN} ${process.cwd()}`} (${code})`,
    );
  }
}

/** The text in UTF-8, with a byte order mark if it has one. */
function decode(bytes: Buffer): Result<string, string> {
  try {
    return success(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return failure('is not in UTF-8: save it as UTF-8');
  }
}

/** The same, but of a pipe only what is in it now: the event loop does not wait for a writer. */
export function readTextFileNow(path: string): Result<string, string> {
  return readTextFile(path, constants.O_RDONLY | constants.O_NONBLOCK);
}

function causeOf(code: string, path: string): string {
  // A relative path depends on where the process was started.
  const whole = resolve(path);
  const home = path.startsWith('~') ? '; only a shell replaces ~' : '';
  return `${CAUSES[code]?.(whole) ?? whole}${home}`;
}

/**
 * Whether a text is shown as a path: not the URL, the token or the key that somebody gave in place of the file that
 * contains it. One in base64 may begin with a slash, and mostly ends in =.
 */
function isPath(text: string): boolean {
  return (
    text.length <= 1_000 &&
    !/[\p{C}"'{}[\]]|:\/\/|-----|=$/u.test(text) &&
    /^(~|\.{0,2}[/\\]|[A-Za-z]:[/\\])|\.[a-z]{1,5}$/.test(text)
  );
}

/** The bits of a file's mode for group and others; `readOutsideGroup`: for others alone. */
const RIGHTS_OF_OTHERS = { write: 0o022, read: 0o044, readOutsideGroup: 0o004 } as const;

/** The rule of files that others must not change, in words for an operator. */
export const OWNER_WRITES = { text: 'must be writable only by its owner', fix: 'chmod go-w' };

/** What SQLite keeps beside a file, at the end of all links, and the key ring beside its name. */
const BESIDE = ['', '-wal', '-shm', '.keys'];

/** The files of these settings that others may write to, or what belongs to them: `KEY_FILE: must be…`. */
export function ownersProblems(
  settings: readonly string[],
  given: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  return settings.flatMap((name) => {
    const path = given[name] ?? '';
    const places = existsSync(path) ? [path, realpathSync(path)] : [];
    const end = BESIDE.find((ending) => places.some((place) => othersMay('write', place + ending)));
    const { text, fix } = OWNER_WRITES;
    return end === undefined ? [] : { code: name, text: `${name}: ${end && `its ${end} `}${text}`, fix };
  });
}

/**
 * Those that every user may replace, with the right to write to the folder. The sticky bit, as of /tmp, leaves that to
 * the owner of the file.
 */
export function replaceableFiles(
  settings: readonly string[],
  given: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  return settings.flatMap((name) => {
    const path = given[name] ?? '';
    const folders = existsSync(path) ? [resolve(path), realpathSync(path)].map(dirname) : [];
    const open = folders.find((folder) => (statSync(folder).mode & 0o1002) === 0o002 && !isReadOnly(folder));
    if (open === undefined || process.platform === 'win32') return [];
    return {
      code: name,
      text: `${name}: every user may replace it, since all may write to ${open}`,
      fix: `chmod o-w ${open}`,
    };
  });
}

/** As a ConfigMap of Kubernetes is mounted, whose folder has all rights. */
function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch {
    return true;
  }
}

const PROGRAM = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Whether other users than the owner have a right to a file. False on Windows, whose modes do not say, and where it
 * cannot be read. A group that may write to the folder of the program, as with umask 002, may write to the files in it.
 */
export function othersMay(right: keyof typeof RIGHTS_OF_OTHERS, path: string, program = PROGRAM): boolean {
  try {
    const [file, folder] = [statSync(path), statSync(program)];
    const isInside = realpathSync(path).startsWith(realpathSync(program)) && file.gid === folder.gid;
    const trusted = right === 'write' && isInside ? folder.mode & 0o020 : 0;
    return process.platform !== 'win32' && (file.mode & RIGHTS_OF_OTHERS[right] & ~trusted) !== 0;
  } catch {
    return false;
  }
}
