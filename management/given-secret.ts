import { type Result, success } from '../domain/result.ts';
import { generateSecret } from './generate-secret.ts';
import type { Problem } from './outcome.ts';
import { readSecret } from './read-secret.ts';
import type { TerminalStreams } from './terminal.ts';

/** A new secret, and whether it has to be shown, since nobody knows it yet. */
export interface GivenSecret {
  readonly plain: string;
  /** What to add to the answer. */
  readonly shown: { readonly client_secret?: string };
  readonly messages: readonly string[];
}

/** The secret on standard input where the command line says so, else one that is made here. */
export async function givenSecret(
  { secretStdin }: { readonly secretStdin?: true },
  stdin: TerminalStreams['stdin'],
): Promise<Result<GivenSecret, Problem>> {
  if (secretStdin) {
    const read = await readSecret(stdin);
    return read.ok ? success({ plain: read.value, shown: {}, messages: [] }) : read;
  }
  const plain = generateSecret();
  const messages = ['The secret is shown this once: the table holds its BCrypt hash alone.'];
  return success({ plain, shown: { client_secret: plain }, messages });
}
