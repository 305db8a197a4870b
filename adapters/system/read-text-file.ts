import { readFileSync } from 'node:fs';

/** The text of a file in UTF-8, or undefined where it cannot be read. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
