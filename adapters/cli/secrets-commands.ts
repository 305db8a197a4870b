import { Option } from 'commander';
import type { Clock } from '../../application/ports/clock.ts';
import { success } from '../../domain/result.ts';
import { unknownClient } from './client-commands.ts';
import { credentialsAnswer, credentialsDocumentOf, secretsTable } from './credentials-answer.ts';
import { COST_OPTION, type CommandDefinition, type CostOptions, PROGRAM_NAME } from './define-command.ts';
import { describeDetailsProblem } from './detail-options.ts';
import { type EntryCommand, entryCommands } from './entry-command.ts';
import { EXPIRY_OPTIONS, type ExpiryOptions, expiryOf } from './expiry-options.ts';
import { EXIT, problem } from './outcome.ts';
import { SHOWN_ONCE } from './secret-options.ts';
import type { OpenClients } from './with-clients.ts';

interface Options extends CostOptions, ExpiryOptions {
  readonly name?: string;
  readonly withoutId?: true;
}

/** `secrets add`, `secrets list` and `secrets remove`: the two secrets that a client may have. */
export function secretsCommands(open: OpenClients, clock: Clock): readonly CommandDefinition<Options>[] {
  return entryCommands(open, [addSecret(clock), LIST_SECRETS, REMOVE_SECRET]);
}

function addSecret(clock: Clock): EntryCommand<Options> {
  return {
    group: 'secrets',
    usage: 'add <client-id>',
    summary: 'give a client a second secret, and show it once',
    description:
      'Generates a second secret while the first one stays valid, so that a client can change over without a failed request. It begins with an id that is not secret. Expired secrets are removed.',
    examples: [
      `${PROGRAM_NAME} secrets add billing`,
      `${PROGRAM_NAME} secrets add billing --name spring --expires-in 90d`,
    ],
    options: [
      new Option('--name <name>', 'name of the secret, for people').default(undefined, 'the day'),
      ...EXPIRY_OPTIONS,
      COST_OPTION,
    ],
    async run({ addSecret }, { name, cost, ...options }, clientId) {
      const expiresAt = expiryOf(options, clock);
      if (!expiresAt.ok) return expiresAt;
      const added = await addSecret.execute(clientId, { name, expiresAt: expiresAt.value, cost });
      if (added.ok) {
        return credentialsAnswer(
          added.value,
          [`Client ${clientId} has another secret.`, SHOWN_ONCE],
          added.value.secret,
        );
      }
      if (added.problem === 'client_unknown') return unknownClient(clientId);
      if (added.problem !== 'too_many_secrets') return problem(EXIT.usage, describeDetailsProblem(added.problem));
      const already = `Client ${clientId} has two valid secrets already.`;
      return problem(EXIT.refused, `${already} Remove one with secrets remove first.`);
    },
  };
}

const LIST_SECRETS: EntryCommand<Options> = {
  group: 'secrets',
  usage: 'list <client-id>',
  summary: 'show the ids of its secrets, and when they expire',
  description: 'Shows the secrets of a client by their ids and names. Never a hash.',
  examples: [`${PROGRAM_NAME} secrets list billing`],
  options: [],
  async run({ showClient }, _options, clientId) {
    const shown = await showClient.execute(clientId);
    if (!shown.ok) return unknownClient(clientId);
    const { credentials } = shown.value;
    const document = credentialsDocumentOf(credentials).secrets;
    return success({ document, text: () => secretsTable(credentials), messages: [] });
  },
};

const REMOVE_SECRET: EntryCommand<Options> = {
  group: 'secrets',
  usage: 'remove <client-id> [secret-id]',
  summary: 'remove one secret of a client',
  description: 'Removes one secret. It is refused from the next request on.',
  examples: [
    `${PROGRAM_NAME} secrets remove billing Xb3kQ9aLw2`,
    `${PROGRAM_NAME} secrets remove billing --without-id`,
  ],
  options: [new Option('--without-id', 'the secret without an id, which is in the table clients')],
  async run({ removeSecret }, { withoutId }, clientId, secretId) {
    if ((secretId === undefined) !== (withoutId === true)) {
      return problem(EXIT.usage, 'Give either the id of a secret or --without-id.');
    }
    const removed = await removeSecret.execute(clientId, secretId);
    if (removed.ok) return credentialsAnswer(removed.value, [`Client ${clientId} has lost this secret.`]);
    return removed.problem === 'client_unknown'
      ? unknownClient(clientId)
      : problem(EXIT.refused, `Client ${clientId} has no such secret; secrets list shows those that it has.`);
  },
};
