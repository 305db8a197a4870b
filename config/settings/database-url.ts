import { SecretText } from '../../adapters/system/secret-text.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import type { Environment } from './read-environment.ts';

export function isDatabaseUrl(value: string): boolean {
  return /^postgres(ql)?:\/\//.test(value) && !/[\r\n]/.test(value) && URL.canParse(value);
}

/** The URL in a file of one line, as container engines mount secrets. Fails with the rule, never with the text. */
export function readDatabaseUrl(text: string): Result<SecretText, readonly string[]> {
  const url = text.replace(/[\r\n]+$/, '');
  return isDatabaseUrl(url) ? success(new SecretText(url)) : failure(['must contain one line, a postgresql:// URL']);
}

/** The URL of a program that needs no other setting. Fails with the setting and the rule, never with a value. */
export function databaseUrlOf(
  { DATABASE_URL, DATABASE_URL_FILE }: Environment,
  readTextFile: (path: string) => string | undefined,
): Result<string, string> {
  if (DATABASE_URL && DATABASE_URL_FILE) return failure('DATABASE_URL: must not be set if DATABASE_URL_FILE is set.');
  if (DATABASE_URL_FILE) {
    const text = readTextFile(DATABASE_URL_FILE);
    const read = text === undefined ? failure(['cannot be read']) : readDatabaseUrl(text);
    return read.ok ? success(read.value.reveal()) : failure(`DATABASE_URL_FILE: ${read.problem.join()}.`);
  }
  if (DATABASE_URL && isDatabaseUrl(DATABASE_URL)) return success(DATABASE_URL);
  return failure('DATABASE_URL: must be set in the environment, to a postgresql:// URL.');
}
