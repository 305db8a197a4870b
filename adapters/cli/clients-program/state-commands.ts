import { JSON_OPTION } from '../command-program.ts';
import { outputOf } from '../text-table.ts';
import { accepted, type ClientCommand, PROGRAM_NAME } from './client-command.ts';
import { clientOutput, registrationOf } from './client-output.ts';

/** What becomes of the tokens of a client. */
const HELD =
  'Introspection calls its tokens inactive from now on; resource servers that verify tokens locally accept them until they expire.';

/** `show`, `disable`, `enable`, `remove` and `revoke-tokens`. */
export const STATE_COMMANDS: readonly ClientCommand[] = [
  {
    usage: 'show <client-id>',
    summary: 'show one client',
    description:
      'Shows one client: how it authenticates, what expires when, and what is wrong with it if the service refuses it. Never its hash.',
    examples: [`${PROGRAM_NAME} show billing`, `${PROGRAM_NAME} show --json -- -an-id-with-a-dash`],
    options: [JSON_OPTION],
    async *run({ open }, _options, clientId = '') {
      const clients = await open();
      yield clientOutput({ client: await accepted(clientId, clients.showClient(clientId)) });
    },
  },
  {
    ...stateCommand('disable', 'disabled', 'was disabled already; nothing was changed.'),
    summary: 'refuse a client until it is enabled again',
    description: `Locks the client: it gets no token from the next request on. It keeps its secret for enable. ${HELD}`,
  },
  {
    ...stateCommand('enable', 'enabled', 'was not disabled; nothing was changed.'),
    summary: 'accept a disabled client again, with its old secret',
    description: 'Unlocks a disabled client: its old secret is valid from the next request on.',
  },
  {
    usage: 'remove <client-id>',
    summary: 'delete a client',
    description: `Deletes a client with its secret; only add brings it back. ${HELD}`,
    examples: [`${PROGRAM_NAME} remove billing`, `${PROGRAM_NAME} remove billing --yes`],
    options: [JSON_OPTION],
    asks: (_options, clientId) => `Delete client ${clientId} with all its secrets and keys?`,
    async *run({ open }, _options, clientId = '') {
      const clients = await open();
      const removed = await accepted(clientId, clients.removeClient(clientId));
      yield outputOf({ ...registrationOf(removed), state: 'removed' }, [`Client ${clientId} is removed.`]);
    },
  },
  {
    usage: 'revoke-tokens <client-id>',
    summary: 'revoke all tokens of a client',
    description: `Revokes all tokens that a client holds. It stays registered and can get new ones. ${HELD} The command takes three seconds, so that tokens fetched afterwards are active.`,
    examples: [`${PROGRAM_NAME} revoke-tokens billing`, `${PROGRAM_NAME} revoke-tokens billing --yes`],
    options: [JSON_OPTION],
    asks: (_options, clientId) => `Revoke all tokens of client ${clientId}?`,
    async *run({ open }, _options, clientId = '') {
      const clients = await open();
      await accepted(clientId, clients.revokeTokens(clientId));
      yield outputOf({ client_id: clientId }, [
        `The tokens of client ${clientId} are revoked. Those that it gets from now on are active.`,
      ]);
    },
  },
];

function stateCommand(name: string, state: 'disabled' | 'enabled', unchanged: string) {
  return {
    usage: `${name} <client-id>`,
    examples: [`${PROGRAM_NAME} ${name} billing`],
    options: [JSON_OPTION],
    async *run({ open }, _options, clientId = '') {
      const clients = await open();
      const changing = clients.changeClient(clientId, { state });
      const { client, changed: isChanged } = await accepted(clientId, changing);
      yield clientOutput({ client, isBrief: true }, [`Client ${clientId} ${isChanged ? `is ${state}.` : unchanged}`]);
    },
  } satisfies Partial<ClientCommand>;
}
