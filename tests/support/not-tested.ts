import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';

/** The file that collects what is not tested here, for the end of the output. */
export const NOT_TESTED_VARIABLE = 'NOT_TESTED_FILE';

/** @param reason what is not tested, and why: a sentence. */
export function notTested(reason: string): void {
  const file = process.env[NOT_TESTED_VARIABLE];
  if (file === undefined) process.stderr.write(`${reason}\n`);
  else appendFileSync(file, `${reason}\n`);
}

/** Prints each reason once, after everything else. */
export function printNotTested(): void {
  const file = process.env[NOT_TESTED_VARIABLE] ?? '';
  const reasons = new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean));
  for (const reason of reasons) process.stderr.write(`${reason}\n`);
  rmSync(dirname(file), { recursive: true });
}
