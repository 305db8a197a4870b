import { Option } from 'commander';
import type { ChangeDetailsProblem } from '../../application/clients/change-details.ts';
import type { DescribedClient } from '../../application/clients/described-credentials.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { type Failure, type Result, success } from '../../domain/result.ts';
import { unknownClient } from './client-commands.ts';
import { credentialsAnswer, credentialsDocumentOf, secretsTable } from './credentials-answer.ts';
import { COST_OPTION, type CommandDefinition, type CostOptions, JSON_OPTION, PROGRAM_NAME } from './define-command.ts';
import {
  describeDetailsProblem,
  JWKS_OPTION,
  SUBJECT_OPTIONS,
  type SubjectOptions,
  subjectOf,
} from './detail-options.ts';
import { EXPIRY_OPTIONS, type ExpiryOptions, expiryOf } from './expiry-options.ts';
import { EXIT, type Outcome, type Problem, problem } from './outcome.ts';
import { readJwks } from './read-jwks.ts';
import { SHOWN_ONCE } from './secret-options.ts';
import { type ClientUseCases, type OpenClients, withClients } from './with-clients.ts';

interface Options extends CostOptions, ExpiryOptions, SubjectOptions {
  readonly name?: string;
  readonly withoutId?: true;
  readonly jwks: string;
}

interface CredentialCommand extends Omit<CommandDefinition<Options>, 'run'> {
  run(clients: ClientUseCases, options: Options, clientId: string, entry: string | undefined): Promise<Outcome>;
}

/** The commands on credentials and resources of one client: `secrets`, `keys`, `subjects` and `resources`. */
export function credentialCommands(open: OpenClients, clock: Clock): readonly CommandDefinition<Options>[] {
  return [...secretsCommands(clock), ...keysCommands(clock), ...SUBJECTS_COMMANDS, ...RESOURCES_COMMANDS].map(
    ({ run, options, ...help }) => ({
      ...help,
      options: [...options, JSON_OPTION],
      run: (given, clientId = '', entry) => withClients(open, (clients) => run(clients, given, clientId, entry)),
    }),
  );
}

function secretsCommands(clock: Clock): readonly CredentialCommand[] {
  return [
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
        return added.problem === 'name_malformed'
          ? problem(EXIT.usage, 'The name must have 1 to 255 characters, and no control character.')
          : problem(
              EXIT.refused,
              `Client ${clientId} has two valid secrets already. Remove one with secrets remove first.`,
            );
      },
    },
    {
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
    },
  ];
}

function keysCommands(clock: Clock): readonly CredentialCommand[] {
  return [
    {
      group: 'keys',
      usage: 'add <client-id>',
      summary: 'add public keys to a client',
      description:
        'Adds the public keys of a file, for private_key_jwt. The keys that the client has stay valid, so that it can change over without a failed request.',
      examples: [
        `${PROGRAM_NAME} keys add billing --jwks keys.json`,
        `${PROGRAM_NAME} keys add billing --jwks keys.json --expires-in 365d`,
      ],
      options: [required(JWKS_OPTION), ...EXPIRY_OPTIONS],
      async run({ changeDetails }, { jwks, ...options }, clientId) {
        const expiresAt = expiryOf(options, clock);
        if (!expiresAt.ok) return expiresAt;
        const keys = await readJwks(jwks, expiresAt.value);
        if (!keys.ok) return keys;
        const changed = await changeDetails.execute(clientId, { add: { keys: keys.value } });
        return outcomeOf(changed, clientId, keys.value.length === 1 ? 'has another key' : 'has more keys');
      },
    },
    {
      group: 'keys',
      usage: 'remove <client-id> <key-id>',
      summary: 'remove one key of a client',
      description: 'Removes the key with this id, which show prints: its SHA-256 thumbprint (RFC 7638), not its kid.',
      examples: [`${PROGRAM_NAME} keys remove billing NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs`],
      options: [],
      async run({ changeDetails }, _options, clientId, keyId = '') {
        return outcomeOf(await changeDetails.execute(clientId, { remove: { keyId } }), clientId, 'has lost this key');
      },
    },
  ];
}

const SUBJECTS_COMMANDS: readonly CredentialCommand[] = [
  {
    group: 'subjects',
    usage: 'add <client-id>',
    summary: 'let an identity of another issuer act as a client',
    description: 'Adds a federated subject, for federated_jwt. Everything is compared exactly; wildcards do not exist.',
    examples: [
      `${PROGRAM_NAME} subjects add billing --issuer https://issuer.example --subject billing --claim team=payments`,
    ],
    options: SUBJECT_OPTIONS.map((option) => (option.long === '--claim' ? option : required(option))),
    async run({ changeDetails }, options, clientId) {
      const changed = await changeDetails.execute(clientId, { add: { subjects: [subjectOf(options)] } });
      return outcomeOf(changed, clientId, 'has another federated subject');
    },
  },
  {
    group: 'subjects',
    usage: 'remove <client-id>',
    summary: 'remove an identity of another issuer',
    description: 'Removes the federated subject with this issuer and subject.',
    examples: [`${PROGRAM_NAME} subjects remove billing --issuer https://issuer.example --subject billing`],
    options: SUBJECT_OPTIONS.filter(({ long }) => long !== '--claim').map(required),
    async run({ changeDetails }, { issuer, subject }, clientId) {
      const changed = await changeDetails.execute(clientId, { remove: { issuer, subject } });
      return outcomeOf(changed, clientId, 'has lost this federated subject');
    },
  },
];

const RESOURCES_COMMANDS: readonly CredentialCommand[] = [
  {
    group: 'resources',
    usage: 'add <client-id> <uri>',
    summary: 'let a client request a resource',
    description: 'Adds a resource that the client may name in a token request (RFC 8707).',
    examples: [`${PROGRAM_NAME} resources add billing https://api.example/`],
    options: [],
    async run({ changeDetails }, _options, clientId, resource = '') {
      const changed = await changeDetails.execute(clientId, { add: { resources: [resource] } });
      return outcomeOf(changed, clientId, 'has another resource');
    },
  },
  {
    group: 'resources',
    usage: 'remove <client-id> <uri>',
    summary: 'remove a resource of a client',
    description: 'Removes a resource: a token request that names it gets invalid_target.',
    examples: [`${PROGRAM_NAME} resources remove billing https://api.example/`],
    options: [],
    async run({ changeDetails }, _options, clientId, resource = '') {
      return outcomeOf(
        await changeDetails.execute(clientId, { remove: { resource } }),
        clientId,
        'has lost this resource',
      );
    },
  },
];

/** The option as one that must be given. */
function required({ flags, description }: Option): Option {
  return new Option(flags, description).makeOptionMandatory();
}

function outcomeOf(changed: Result<DescribedClient, ChangeDetailsProblem>, clientId: string, what: string): Outcome {
  return changed.ok
    ? credentialsAnswer(changed.value, [`Client ${clientId} ${what}.`])
    : refusal(changed.problem, clientId);
}

function refusal(reason: ChangeDetailsProblem, clientId: string): Failure<Problem> {
  if (reason === 'client_unknown') return unknownClient(clientId);
  if (reason === 'entry_unknown')
    return problem(EXIT.refused, `Client ${clientId} has no such entry; show prints those that it has.`);
  return problem(EXIT.refused, `${describeDetailsProblem(reason)} Nothing was changed.`);
}
