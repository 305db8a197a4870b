import { Option } from 'commander';
import { JSON_OPTION } from '../command-program.ts';
import { EXIT, Problem } from '../outcome.ts';
import { readSecret, SHORT_SECRET_OPTION, type ShortSecretOptions } from '../read-secret.ts';
import { accepted, type ClientCommand, changed, PROGRAM_NAME } from './client-command.ts';
import {
  COST_OPTION,
  type CostOptions,
  EXPIRY_OPTIONS,
  type ExpiryOptions,
  expiryOf,
  GIVEN_COST_OPTION,
  type GivenCostOptions,
  parseDuration,
  SECRET_OPTIONS,
  type SecretOptions,
} from './client-options.ts';
import { clientOutput, secretsOutput, warningOfOwner } from './client-output.ts';

interface RotateOptions extends SecretOptions {
  /** Seconds. */
  readonly keepOldFor?: number;
}

/** `rotate <client-id>`: replaces the secrets of a client. */
export const ROTATE_COMMAND: ClientCommand<RotateOptions> = {
  usage: 'rotate <client-id>',
  summary: 'give a client a new secret, and show it once',
  description:
    'Gives a client a new secret. Its old ones are refused from the next request on, or after the time of --keep-old-for; a disabled client stays disabled.',
  examples: [
    `${PROGRAM_NAME} rotate billing`,
    `${PROGRAM_NAME} rotate billing --secret-stdin < secret.txt`,
    `${PROGRAM_NAME} rotate billing --keep-old-for 24h`,
  ],
  options: [
    new Option('--keep-old-for <time>', 'how long the old secret stays valid, such as 24h')
      .argParser(parseDuration)
      .conflicts('secretStdin'),
    ...SECRET_OPTIONS,
  ],
  asks: ({ keepOldFor, secretStdin }, clientId) =>
    keepOldFor === undefined && !secretStdin
      ? `Every secret of client ${clientId} is refused from now on. Give it a new one?`
      : undefined,
  async *run({ open, stdin }, { keepOldFor: keepOldSeconds, ...options }, clientId = '') {
    const { cost, secretStdin } = options;
    const secret = secretStdin ? await readSecret(stdin, options) : undefined;
    const clients = await open();
    const give = keepOldSeconds === undefined ? { secret, cost } : { keepOldSeconds, cost };
    const rotated = await accepted(clientId, clients.changeClient(clientId, { give }));
    const { client } = rotated;
    const stillDisabled = client.state === 'disabled' ? ' It stays disabled.' : '';
    const shown = {
      client,
      isBrief: keepOldSeconds === undefined,
      secret: secretStdin ? undefined : rotated.secret,
    };
    const messages = [`Client ${clientId} has a new secret.${stillDisabled}`, ...warningOfOwner(client)];
    yield clientOutput(shown, messages);
  },
};

interface NamedOptions extends CostOptions, ExpiryOptions {
  readonly name?: string;
  readonly withoutId?: true;
  readonly revokeTokens?: true;
}

/** `secrets add`, `secrets list` and `secrets remove`: the two secrets that a client may have. */
export const SECRET_COMMANDS: readonly ClientCommand<NamedOptions>[] = [
  {
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
      new Option('--name <name>', 'name of the secret, for people'),
      ...EXPIRY_OPTIONS,
      COST_OPTION,
      JSON_OPTION,
    ],
    async *run({ open, clock }, { name, cost, ...options }, clientId = '') {
      const give = { name, expiresAt: expiryOf(options, clock), cost };
      const clients = await open();
      const given = await accepted(clientId, clients.changeClient(clientId, { give }));
      yield clientOutput(given, [`Client ${clientId} has another secret.`, ...warningOfOwner(given.client)]);
    },
  },
  {
    group: 'secrets',
    usage: 'list <client-id>',
    summary: 'show the ids of its secrets, and when they expire',
    description: 'Shows the secrets of a client by their ids and names. Never a hash.',
    examples: [`${PROGRAM_NAME} secrets list billing`],
    options: [JSON_OPTION],
    async *run({ open }, _options, clientId = '') {
      const clients = await open();
      yield secretsOutput(await accepted(clientId, clients.showClient(clientId)));
    },
  },
  {
    group: 'secrets',
    usage: 'remove <client-id> [secret-id]',
    summary: 'remove one secret of a client',
    description: 'Removes one secret. It is refused from the next request on.',
    examples: [
      `${PROGRAM_NAME} secrets remove billing Xb3kQ9aLw2`,
      `${PROGRAM_NAME} secrets remove billing --without-id`,
    ],
    options: [
      new Option('--without-id', 'the secret without an id, which is in the table clients'),
      new Option('--revoke-tokens', 'revoke all tokens of the client too, as revoke-tokens does'),
      JSON_OPTION,
    ],
    async *run({ open }, { withoutId, revokeTokens }, clientId = '', secretId) {
      if ((secretId === undefined) !== (withoutId === true)) {
        throw new Problem(EXIT.usage, 'Give either the id of a secret or --without-id.');
      }
      const clients = await open();
      const request = { remove: [{ secret_id: secretId }], revokesTokens: revokeTokens };
      const lost = revokeTokens ? 'this secret and its tokens' : 'this secret';
      yield await changed(clients, clientId, request, `has lost ${lost}`);
    },
  },
];

/** `hash`: prints the BCrypt encoding of a secret, for a clients file or another program. */
export const HASH_COMMAND: ClientCommand<GivenCostOptions & ShortSecretOptions> = {
  usage: 'hash',
  summary: 'print the BCrypt encoding of a secret from standard input',
  description:
    'Prints the BCrypt encoding of the secret on standard input, as a clients file contains it. Needs no database.',
  examples: [`${PROGRAM_NAME} hash < secret.txt`, `npm run --silent clients -- hash --cost 12 < secret.txt`],
  options: [GIVEN_COST_OPTION, SHORT_SECRET_OPTION],
  async *run({ encodeSecret, stdin }, { cost, ...options }) {
    const encoded = await encodeSecret(await readSecret(stdin, options), cost);
    yield { document: encoded, text: () => encoded, messages: [] };
  },
};
