import type { Readable } from 'node:stream';
import { type Result, success } from '../../domain/result.ts';
import { isPresentableSecret, SECRET_MAX_BYTES } from '../../domain/stored-secret.ts';
import { EXIT, type Problem, problem } from './outcome.ts';

/** Standard input, which may be a terminal. */
export type Input = Readable & { readonly isTTY?: boolean };

const TOO_LONG = `The secret on standard input has more than ${SECRET_MAX_BYTES} bytes; BCrypt would ignore the rest.`;
const LINE_BREAK = /\r?\n$/;

/**
 * Reads a secret from standard input to its end, without one trailing line break (LF or CRLF), which `echo` and editors
 * add. Everything else belongs to the secret, spaces too. Refuses secrets that BCrypt would not compare in full, and
 * bytes that are not UTF-8, since no client could send them.
 */
export async function readSecret(input: Input): Promise<Result<string, Problem>> {
  if (input.isTTY) {
    return problem(EXIT.usage, 'The secret must come from a pipe or a file: typed at a terminal, it would be visible.');
  }
  const limit = SECRET_MAX_BYTES + '\r\n'.length;
  const bytes = await readUpTo(input, limit + 1);
  if (bytes.length > limit) return problem(EXIT.refused, TOO_LONG);
  const text = decode(bytes);
  if (text === undefined) return problem(EXIT.refused, 'The secret on standard input is not UTF-8.');
  const secret = text.replace(LINE_BREAK, '');
  return isPresentableSecret(secret) ? success(secret) : problem(EXIT.refused, ruleBrokenBy(secret));
}

/** Reads no more than it takes to see that the secret is too long. */
async function readUpTo(input: Input, limit: number): Promise<Buffer> {
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

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function ruleBrokenBy(secret: string): string {
  if (secret === '') return 'The secret on standard input is empty.';
  if (secret.includes('\0')) return 'The secret on standard input contains a NUL, at which BCrypt stops reading.';
  return TOO_LONG;
}
