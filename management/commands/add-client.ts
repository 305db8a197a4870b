import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { ClientRegistration } from '../../domain/client-registration.ts';
import { clientOutcome } from '../client-outcome.ts';
import { MEMBER_OF } from '../client-view.ts';
import { type CostOption, costOption } from '../cost-option.ts';
import { defineCommand } from '../define-command.ts';
import { encodeSecret } from '../encode-secret.ts';
import { EXIT } from '../exit-code.ts';
import { givenSecret } from '../given-secret.ts';
import { type Outcome, problem } from '../outcome.ts';
import { PROGRAM_NAME } from '../program-name.ts';
import type { AnswerOptions, Terminal } from '../terminal.ts';
import { type Environment, withClients } from '../with-clients.ts';

interface Options extends AnswerOptions, CostOption {
  readonly name: string;
  readonly scope: string;
  readonly secretStdin?: true;
}

/** `add [client-id]`: registers a client, and shows its secret once. */
export function addClient(program: Command, terminal: Terminal, environment: Environment): void {
  defineCommand(program, {
    usage: 'add [client-id]',
    summary: 'register a client, and show its secret once',
    description:
      'Registers a client. Without an id it gets a random one, and without --secret-stdin a secret of 256 bits.',
    examples: [
      `${PROGRAM_NAME} add billing --name 'Billing' --scope 'read write'`,
      `${PROGRAM_NAME} add --name 'Nightly report' --scope read --json`,
      `${PROGRAM_NAME} add billing --name 'Billing' --scope read --secret-stdin < secret.txt`,
    ],
  })
    .requiredOption('--name <name>', 'what people call the client')
    .requiredOption('--scope <scopes>', 'what it may ask for, with single spaces between')
    .option('--secret-stdin', 'read the secret from standard input instead of making one')
    .addOption(costOption())
    .option('--json', 'answer with one JSON document')
    .action(async (clientId: string | undefined, options: Options) => {
      await terminal.finish(await add(clientId ?? randomUUID(), options, terminal, environment), options);
    });
}

async function add(clientId: string, options: Options, terminal: Terminal, environment: Environment): Promise<Outcome> {
  const fields = { clientId, clientName: options.name, scope: options.scope };
  // Row id and secret are made later; the invariants of the others hold without them.
  const registration = ClientRegistration.of({ ...fields, id: 'unregistered', clientSecret: 'unknown' });
  if (!registration.ok) {
    const { field, rule } = registration.problem;
    return problem(EXIT.usage, `${MEMBER_OF[field]} ${rule}.`);
  }
  const secret = await givenSecret(options, terminal.stdin);
  if (!secret.ok) return secret;
  const { plain, shown, messages } = secret.value;
  const client = { ...fields, clientSecret: await encodeSecret(plain, options.cost) };
  return withClients(environment, async (clients) => {
    const added = await clients.add(client);
    if (added.length === 0) return problem(EXIT.refused, `The client id ${clientId} is taken; nothing was changed.`);
    return clientOutcome(clientId, added, { ...shown, messages: [`Client ${clientId} is added.`, ...messages] });
  });
}
