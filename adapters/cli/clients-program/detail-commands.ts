import type { ChangeDetailsProblem } from '../../../application/clients-program/change-details.ts';
import type { DescribedClient } from '../../../application/clients-program/describe-client.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { Result } from '../../../domain/result.ts';
import type { CommandDefinition } from '../command-program.ts';
import { EXIT, type Outcome, problem } from '../outcome.ts';
import type { AnswerOptions } from '../terminal.ts';
import { clientAnswer } from './client-answer.ts';
import {
  type ClientCommand,
  clientCommands,
  describeDetailsProblem,
  type OpenClients,
  PROGRAM_NAME,
  refusal,
} from './client-command.ts';
import {
  EXPIRY_OPTIONS,
  type ExpiryOptions,
  expiryOf,
  JWKS_OPTION,
  required,
  SUBJECT_OPTIONS,
  type SubjectOptions,
  subjectOf,
} from './client-options.ts';
import { readJwks } from './read-jwks.ts';

interface Options extends AnswerOptions, ExpiryOptions, SubjectOptions {
  readonly jwks: string;
}

/** `keys`, `subjects` and `resources`: what a client has beyond its secrets. */
export function detailCommands(open: OpenClients, clock: Clock): readonly CommandDefinition<Options>[] {
  return clientCommands(open, [...keysCommands(clock), ...SUBJECTS_COMMANDS, ...RESOURCES_COMMANDS]);
}

function keysCommands(clock: Clock): readonly ClientCommand<Options>[] {
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
        return outcomeOf(
          await changeDetails.execute(clientId, { remove: { key_id: keyId } }),
          clientId,
          'has lost this key',
        );
      },
    },
  ];
}

const SUBJECTS_COMMANDS: readonly ClientCommand<Options>[] = [
  {
    group: 'subjects',
    usage: 'add <client-id>',
    summary: 'let an identity of another issuer act as a client',
    description:
      'Adds a federated subject, for federated_jwt. Everything is compared exactly; wildcards do not exist. It is checked against CLIENT_ASSERTION_ISSUERS_FILE, if the environment names that file.',
    examples: [
      `${PROGRAM_NAME} subjects add billing --issuer https://issuer.example --subject billing --claim /team=payments`,
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

const RESOURCES_COMMANDS: readonly ClientCommand<Options>[] = [
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
      const changed = await changeDetails.execute(clientId, { remove: { resource } });
      return outcomeOf(changed, clientId, 'has lost this resource');
    },
  },
];

function outcomeOf(changed: Result<DescribedClient, ChangeDetailsProblem>, clientId: string, what: string): Outcome {
  if (changed.ok) return clientAnswer(changed.value, [`Client ${clientId} ${what}.`]);
  if (typeof changed.problem === 'string') return refusal(changed.problem, clientId);
  return problem(EXIT.refused, `${describeDetailsProblem(changed.problem)} Nothing was changed.`);
}
