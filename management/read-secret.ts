import { type Result, success } from '../domain/result.ts';
import { isPresentableSecret, SECRET_MAX_BYTES } from '../domain/stored-secret.ts';
import { EXIT } from './exit-code.ts';
import { type Problem, problem } from './outcome.ts';
import type { TerminalStreams } from './terminal.ts';

/**
 * A secret from standard input, up to its end and without one trailing line break, LF or CRLF, which `echo` and editors
 * add. Everything else counts, spaces too. Refuses what BCrypt would not compare in full, and what is no UTF-8, since no
 * client could ever send it.
 */
export async function readSecret(stdin: TerminalStreams['stdin']): Promise<Result<string, Problem>> {
  if (stdin.isTTY) {
    return problem(EXIT.usage, 'The secret is read from a pipe or a file: typed at a terminal it would be seen.');
  }
  const bytes = await readAtMost(stdin, SECRET_MAX_BYTES + '\r\n'.length + 1);
  const text = decode(bytes);
  if (!text.ok) return text;
  const secret = text.value.replace(/\r?\n$/, '');
  return isPresentableSecret(secret) ? success(secret) : problem(EXIT.refused, ruleBrokenBy(secret));
}

/** What comes up to the limit; more would be refused anyhow. */
async function readAtMost(stdin: TerminalStreams['stdin'], limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length >= limit) break;
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer): Result<string, Problem> {
  if (bytes.length > SECRET_MAX_BYTES + '\r\n'.length) return problem(EXIT.refused, TOO_LONG);
  try {
    return success(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return problem(EXIT.refused, 'The secret on standard input is not UTF-8.');
  }
}

const TOO_LONG = `The secret on standard input has more than ${SECRET_MAX_BYTES} bytes; BCrypt would not read the rest.`;

function ruleBrokenBy(secret: string): string {
  if (secret === '') return 'The secret on standard input is empty.';
  if (secret.includes('\0')) return 'The secret on standard input holds a NUL, at which BCrypt stops reading.';
  return TOO_LONG;
}
