import type { Command } from 'commander';
import { success } from '../../domain/result.ts';
import { type CostOption, costOption } from '../cost-option.ts';
import { defineCommand } from '../define-command.ts';
import { encodeSecret } from '../encode-secret.ts';
import type { Outcome } from '../outcome.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import { readSecret } from '../read-secret.ts';
import type { Terminal } from '../terminal.ts';

/** `hash`: the BCrypt encoding of a secret on standard input, for a clients file or another program. */
export function hashSecret(program: Command, terminal: Terminal): void {
  defineCommand(program, {
    usage: 'hash',
    summary: 'print the BCrypt encoding of a secret from standard input',
    description:
      'Prints the BCrypt encoding of the secret on standard input, as a clients file has it. Needs no database.',
    examples: [`${PROGRAM_NAME} hash < secret.txt`, `npm run --silent clients -- hash --cost 12 < secret.txt`],
  })
    .addOption(costOption())
    .action(async (options: CostOption) => {
      await terminal.finish(await hash(options, terminal), {});
    });
}

async function hash({ cost }: CostOption, terminal: Terminal): Promise<Outcome> {
  const secret = await readSecret(terminal.stdin);
  if (!secret.ok) return secret;
  const encoded = await encodeSecret(secret.value, cost);
  return success({ document: encoded, text: () => encoded, messages: [] });
}
