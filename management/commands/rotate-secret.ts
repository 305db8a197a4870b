import type { Command } from 'commander';
import { clientOutcome } from '../client-outcome.ts';
import { viewsOf } from '../client-view.ts';
import { type CostOption, costOption } from '../cost-option.ts';
import { defineCommand } from '../define-command.ts';
import { encodeSecret } from '../encode-secret.ts';
import { givenSecret } from '../given-secret.ts';
import type { Outcome } from '../outcome.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

interface Options extends AnswerOptions, CostOption {
  readonly secretStdin?: true;
}

/** `rotate <client-id>`: another secret in place of the old one, which is refused from the next request on. */
export function rotateSecret(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'rotate <client-id>',
    summary: 'give a client a new secret, and show it once',
    description:
      'Gives a client a new secret. The old one is refused from the next request on; a disabled client stays disabled.',
    examples: [`${PROGRAM_NAME} rotate billing`, `${PROGRAM_NAME} rotate billing --secret-stdin < secret.txt`],
  })
    .option('--secret-stdin', 'read the secret from standard input instead of making one')
    .addOption(costOption())
    .option('--json', 'answer with one JSON document')
    .action(async (clientId: string, options: Options) => {
      await terminal.finish(await rotate(clientId, options, terminal, environment), options);
    });
}

async function rotate(
  clientId: string,
  options: Options,
  terminal: Terminal,
  environment: Environment,
): Promise<Outcome> {
  const secret = await givenSecret(options, terminal.stdin);
  if (!secret.ok) return secret;
  const { plain, shown, messages } = secret.value;
  const encoded = await encodeSecret(plain, options.cost);
  return withClients(environment, async (clients) => {
    const changed = await clients.changeSecret(clientId, encoded);
    const stillDisabled = viewsOf(changed).some(({ state }) => state === 'disabled') ? ' It stays disabled.' : '';
    return clientOutcome(clientId, changed, {
      ...shown,
      messages: [`Client ${clientId} has a new secret.${stillDisabled}`, ...messages],
    });
  });
}
