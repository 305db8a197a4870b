import { success } from '../../../domain/result.ts';
import type { CommandDefinition } from '../command-program.ts';
import { answerOf } from '../document-answer.ts';
import { clientAnswer } from './client-answer.ts';
import { type ClientCommand, clientCommands, type OpenClients, PROGRAM_NAME, refusal } from './client-command.ts';

/** `show`, `disable`, `enable` and `remove`. */
export function stateCommands(open: OpenClients): readonly CommandDefinition[] {
  return clientCommands(open, [SHOW, ...CHANGES.map(changeCommand), REMOVE]);
}

const SHOW: ClientCommand = {
  usage: 'show <client-id>',
  summary: 'show one client',
  description:
    'Shows one client: how it authenticates, what expires when, and what is wrong with it if the service refuses it. Never its hash.',
  examples: [`${PROGRAM_NAME} show billing`, `${PROGRAM_NAME} show --json -- -an-id-with-a-dash`],
  options: [],
  async run({ showClient }, _options, clientId) {
    const shown = await showClient(clientId);
    return shown.ok ? clientAnswer(shown.value, []) : refusal(shown.problem, clientId);
  },
};

const REMOVE: ClientCommand = {
  usage: 'remove <client-id>',
  summary: 'delete a client',
  description:
    'Deletes a client with its secret; only add brings it back. Tokens that it holds stay valid until they expire.',
  examples: [`${PROGRAM_NAME} remove billing`],
  options: [],
  async run({ removeClient }, _options, clientId) {
    const removed = await removeClient(clientId);
    if (!removed.ok) return refusal(removed.problem, clientId);
    return success(answerOf({ ...removed.value, state: 'removed' }, [`Client ${clientId} is removed.`]));
  },
};

interface StateChange {
  readonly change: 'disable' | 'enable';
  readonly summary: string;
  readonly description: string;
  readonly state: 'disabled' | 'enabled';
  readonly unchanged: string;
}

const CHANGES: readonly StateChange[] = [
  {
    change: 'disable',
    summary: 'refuse a client until it is enabled again',
    description:
      'Locks the client: it gets no token from the next request on. It keeps its secret for enable. Tokens that it holds stay valid until they expire.',
    state: 'disabled',
    unchanged: 'was disabled already; nothing was changed.',
  },
  {
    change: 'enable',
    summary: 'accept a disabled client again, with its old secret',
    description: 'Unlocks a disabled client: its old secret is valid from the next request on.',
    state: 'enabled',
    unchanged: 'was not disabled; nothing was changed.',
  },
];

function changeCommand({ change, state, unchanged, ...help }: StateChange): ClientCommand {
  return {
    ...help,
    usage: `${change} <client-id>`,
    examples: [`${PROGRAM_NAME} ${change} billing`],
    options: [],
    async run({ changeClient }, _options, clientId) {
      const result = await changeClient.execute(clientId, { state });
      if (!result.ok) return refusal(result.problem, clientId);
      const { client, changed } = result.value;
      return clientAnswer({ client }, [`Client ${clientId} ${changed ? `is ${state}.` : unchanged}`]);
    },
  };
}
