import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { Option } from 'commander';
import { isPresentableSecret, SECRET_MAX_BYTES, SECRET_MIN_CHARACTERS } from '../../domain/stored-secret.ts';
import { hasUnprintable, NO_UNPRINTABLE } from '../../domain/unprintable.ts';
import { EXIT, Problem } from './outcome.ts';

export const SHORT_SECRET_OPTION = new Option(
  '--allow-short-secret',
  `accept a secret of fewer than ${SECRET_MIN_CHARACTERS} characters, which is easier to guess`,
);

export interface ShortSecretOptions {
  readonly allowShortSecret?: true;
}

/** Standard input, which may be a terminal. */
export type Input = Readable & { readonly isTTY?: boolean };

const TOO_LONG = `The secret on standard input has more than ${SECRET_MAX_BYTES} bytes; BCrypt would ignore the rest.`;
const TOO_SHORT = `The secret on standard input has fewer than ${SECRET_MIN_CHARACTERS} characters. To accept it all the same, add --allow-short-secret.`;
const LINE_BREAK = /\r?\n$/;

/**
 * Reads a secret from standard input to its end, without one trailing line break (LF or CRLF), which `echo` and editors
 * add. Everything else belongs to the secret, spaces too. Refuses secrets that BCrypt would not compare in full, bytes
 * that are not UTF-8, since no client could send them, what nobody sees, and short secrets unless they are allowed.
 */
export async function readSecret(input: Input, { allowShortSecret }: ShortSecretOptions): Promise<string> {
  if (input.isTTY) {
    throw new Problem(
      EXIT.usage,
      'The secret must come from a pipe or a file: typed at a terminal, it would be visible.',
    );
  }
  const limit = SECRET_MAX_BYTES + '\r\n'.length;
  const bytes = await readUpTo(input, limit + 1);
  if (bytes.length > limit) throw new Problem(EXIT.refused, TOO_LONG);
  if (!isUtf8(bytes)) throw new Problem(EXIT.refused, 'The secret on standard input is not UTF-8.');
  const secret = bytes.toString().replace(LINE_BREAK, '');
  if (!isPresentableSecret(secret)) throw new Problem(EXIT.refused, ruleBrokenBy(secret));
  if (hasUnprintable(secret)) throw new Problem(EXIT.refused, `The secret on standard input ${NO_UNPRINTABLE}.`);
  if (!allowShortSecret && [...secret].length < SECRET_MIN_CHARACTERS) throw new Problem(EXIT.refused, TOO_SHORT);
  return secret;
}

/** Reads to the end, or no more than it takes to have `limit` bytes. */
export async function readUpTo(input: Input, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length >= limit) break;
  }
  return Buffer.concat(chunks);
}

function ruleBrokenBy(secret: string): string {
  if (secret === '') return 'The secret on standard input is empty.';
  if (secret.includes('\0')) return 'The secret on standard input contains a NUL, at which BCrypt stops reading.';
  return TOO_LONG;
}
