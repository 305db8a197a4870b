import { readFileSync, statSync } from 'node:fs';

/** The text of a file in UTF-8, or undefined where it cannot be read. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Group and others. */
const WRITABLE_BY_OTHERS = 0o022;

/** Whether other users than the owner may write to a file. False on Windows, whose modes do not say, and where it cannot be read. */
export function isWritableByOthers(path: string): boolean {
  try {
    return process.platform !== 'win32' && (statSync(path).mode & WRITABLE_BY_OTHERS) !== 0;
  } catch {
    return false;
  }
}
