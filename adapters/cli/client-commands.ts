import { type Failure, success } from '../../domain/result.ts';
import { answerOf, clientAnswer, documentOf } from './client-answer.ts';
import { credentialsAnswer } from './credentials-answer.ts';
import { type CommandDefinition, JSON_OPTION, PROGRAM_NAME } from './define-command.ts';
import { EXIT, type Outcome, type Problem, problem } from './outcome.ts';
import { type ClientUseCases, type OpenClients, withClients } from './with-clients.ts';

/** Commands on one client: `show`, `disable`, `enable` and `remove`. */
export function clientCommands(open: OpenClients): readonly CommandDefinition[] {
  return COMMANDS.map(({ work, ...help }) => ({
    ...help,
    options: [JSON_OPTION],
    run: (_options, clientId = '') => withClients(open, (clients) => work(clients, clientId)),
  }));
}

/** The problem of an id that no client has. */
export function unknownClient(clientId: string): Failure<Problem> {
  return problem(EXIT.refused, `No client has the id ${clientId}.`);
}

interface ClientCommand extends Omit<CommandDefinition, 'options' | 'run'> {
  work(clients: ClientUseCases, clientId: string): Promise<Outcome>;
}

const COMMANDS: readonly ClientCommand[] = [
  {
    usage: 'show <client-id>',
    summary: 'show one client',
    description:
      'Shows one client: how it authenticates, what expires when, and what is wrong with it if the service refuses it. Never its hash.',
    examples: [`${PROGRAM_NAME} show billing`, `${PROGRAM_NAME} show --json -- -an-id-with-a-dash`],
    async work({ showClient }, clientId) {
      const shown = await showClient.execute(clientId);
      return shown.ok ? credentialsAnswer(shown.value, []) : unknownClient(clientId);
    },
  },
  {
    usage: 'disable <client-id>',
    summary: 'refuse a client until it is enabled again',
    description:
      'Locks the client: it gets no token from the next request on. It keeps its secret for enable. Tokens that it holds stay valid until they expire.',
    examples: [`${PROGRAM_NAME} disable billing`],
    async work({ disableClient }, clientId) {
      const disabled = await disableClient.execute(clientId);
      if (!disabled.ok) return unknownClient(clientId);
      const { client, changed } = disabled.value;
      const state = changed ? 'is disabled.' : 'was disabled already; nothing was changed.';
      return clientAnswer(client, [`Client ${clientId} ${state}`]);
    },
  },
  {
    usage: 'enable <client-id>',
    summary: 'accept a disabled client again, with its old secret',
    description: 'Unlocks a disabled client: its old secret is valid from the next request on.',
    examples: [`${PROGRAM_NAME} enable billing`],
    async work({ enableClient }, clientId) {
      const enabled = await enableClient.execute(clientId);
      if (!enabled.ok) return enabled.problem === 'hash_missing' ? hashMissing(clientId) : unknownClient(clientId);
      const { client, changed } = enabled.value;
      const state = changed ? 'is enabled.' : 'was not disabled; nothing was changed.';
      return clientAnswer(client, [`Client ${clientId} ${state}`]);
    },
  },
  {
    usage: 'remove <client-id>',
    summary: 'delete a client',
    description:
      'Deletes a client with its secret; only add brings it back. Tokens that it holds stay valid until they expire.',
    examples: [`${PROGRAM_NAME} remove billing`],
    async work({ removeClient }, clientId) {
      const removed = await removeClient.execute(clientId);
      if (!removed.ok) return unknownClient(clientId);
      const document = { ...documentOf(removed.value), state: 'removed' };
      return success(answerOf(document, [`Client ${clientId} is removed.`]));
    },
  },
];

function hashMissing(clientId: string): Failure<Problem> {
  return problem(
    EXIT.refused,
    `Client ${clientId} is locked without a hash behind the lock: give it a new secret with rotate first.`,
  );
}
