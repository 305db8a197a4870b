import type { AnswerOptions } from '../terminal.ts';
import { type ClientCommand, changed, PROGRAM_NAME } from './client-command.ts';
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
export const DETAIL_COMMANDS: readonly ClientCommand<Options>[] = [
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
    async run(clients, { jwks, ...options }, clientId) {
      const keys = await readJwks(jwks, expiryOf(options, clients.clock));
      const said = keys.length === 1 ? 'has another key' : 'has more keys';
      return changed(clients, clientId, { add: { keys } }, said);
    },
  },
  {
    group: 'keys',
    usage: 'remove <client-id> <key-id>',
    summary: 'remove one key of a client',
    description: 'Removes the key with this id, which show prints: its SHA-256 thumbprint (RFC 7638), not its kid.',
    examples: [`${PROGRAM_NAME} keys remove billing NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs`],
    options: [],
    run: (clients, _options, clientId, key_id = '') =>
      changed(clients, clientId, { remove: { key_id } }, 'has lost this key'),
  },
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
    run: (clients, options, clientId) =>
      changed(clients, clientId, { add: { subjects: [subjectOf(options)] } }, 'has another federated subject'),
  },
  {
    group: 'subjects',
    usage: 'remove <client-id>',
    summary: 'remove an identity of another issuer',
    description: 'Removes the federated subject with this issuer and subject.',
    examples: [`${PROGRAM_NAME} subjects remove billing --issuer https://issuer.example --subject billing`],
    options: SUBJECT_OPTIONS.filter(({ long }) => long !== '--claim').map(required),
    run: (clients, { issuer, subject }, clientId) =>
      changed(clients, clientId, { remove: { issuer, subject } }, 'has lost this federated subject'),
  },
  {
    group: 'resources',
    usage: 'add <client-id> <uri>',
    summary: 'let a client request a resource',
    description: 'Adds a resource that the client may name in a token request (RFC 8707).',
    examples: [`${PROGRAM_NAME} resources add billing https://api.example/`],
    options: [],
    run: (clients, _options, clientId, resource = '') =>
      changed(clients, clientId, { add: { resources: [resource] } }, 'has another resource'),
  },
  {
    group: 'resources',
    usage: 'remove <client-id> <uri>',
    summary: 'remove a resource of a client',
    description: 'Removes a resource: a token request that names it gets invalid_target.',
    examples: [`${PROGRAM_NAME} resources remove billing https://api.example/`],
    options: [],
    run: (clients, _options, clientId, resource = '') =>
      changed(clients, clientId, { remove: { resource } }, 'has lost this resource'),
  },
];
