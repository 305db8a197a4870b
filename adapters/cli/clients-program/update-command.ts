import { Option } from 'commander';
import type { ClientUpdate } from '../../../application/clients-program/change-client.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { JSON_OPTION } from '../command-program.ts';
import { EXIT, Problem } from '../outcome.ts';
import type { OutputOptions } from '../terminal.ts';
import { type ClientCommand, changed, PROGRAM_NAME } from './client-command.ts';
import { fieldsGiven } from './client-field-options.ts';
import {
  addedDetails,
  collected,
  DETAIL_OPTIONS,
  type DetailOptions,
  NOT_TOKEN_CLAIMS,
  SUBJECT_OPTIONS,
} from './client-options.ts';

interface UpdateOptions extends OutputOptions, DetailOptions {
  readonly name?: string;
  readonly scope?: string;
  readonly addKey?: string;
  readonly removeKey?: readonly string[];
  readonly addSubject?: true;
  readonly removeSubject?: true;
  readonly addResource?: readonly string[];
  readonly removeResource?: readonly string[];
}

const repeatable = (flags: string, description: string) =>
  new Option(flags, `${description}; repeatable`).argParser(collected);

/** `update`: name, scopes, keys, federated subjects, resources, claims and lifetime, all in one edit. */
export const UPDATE_COMMAND: ClientCommand<UpdateOptions> = {
  usage: 'update <client-id>',
  summary: 'change name, scopes, keys, subjects, resources or tokens',
  description:
    'Changes what the options name, all or nothing. Keys and subjects that the client has stay valid beside new ones. For its secrets see rotate and secrets.',
  examples: [
    `${PROGRAM_NAME} update billing --name 'Billing 2' --scope 'read write'`,
    `${PROGRAM_NAME} update billing --add-key keys.json --expires-in 365d`,
    `${PROGRAM_NAME} update billing --remove-key NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs`,
    `${PROGRAM_NAME} update billing --add-subject --issuer https://issuer.example --subject billing --claim /team=payments`,
    `${PROGRAM_NAME} update billing --add-resource https://api.example/ --resource-scope 'read write'`,
    `${PROGRAM_NAME} update billing --token-claims '{"tenant":"acme"}' --token-lifetime 60`,
  ],
  options: [
    new Option('--name <name>', 'name of the client, for people'),
    new Option('--scope <scopes>', 'all scopes that it may request, separated by single spaces'),
    new Option('--add-key <file>', 'add public keys, for private_key_jwt: a JSON Web Key Set or one JSON Web Key'),
    repeatable('--remove-key <key-id>', 'remove the key with this id, which show prints: its thumbprint (RFC 7638)'),
    new Option('--add-subject', 'add the identity of --issuer, --subject and --claim, for federated_jwt'),
    new Option('--remove-subject', 'remove the identity of --issuer and --subject'),
    ...SUBJECT_OPTIONS,
    repeatable('--add-resource <uri>', 'let it request a resource (RFC 8707)'),
    repeatable('--remove-resource <uri>', 'remove a resource'),
    ...DETAIL_OPTIONS,
    JSON_OPTION,
  ],
  async *run({ open, clock }, options, clientId = '') {
    const update = await updateOf(options, clock);
    yield changed(await open(), clientId, update, 'is changed');
  },
};

async function updateOf(options: UpdateOptions, clock: Clock): Promise<ClientUpdate> {
  const { name: clientName, scope, addKey, removeKey = [], addSubject, removeSubject } = options;
  const { issuer, subject, addResource = [], removeResource = [] } = options;
  const misused = misusedOption(options);
  if (misused !== undefined) throw new Problem(EXIT.usage, misused);
  return {
    ...((clientName ?? scope) !== undefined && { set: { clientName, scope } }),
    remove: [
      ...removeKey.map((key_id) => ({ key_id })),
      ...(removeSubject ? [{ issuer: issuer ?? '', subject: subject ?? '' }] : []),
      ...removeResource.map((resource) => ({ resource })),
    ],
    add: await addedDetails(
      { keyFile: addKey, hasSubject: addSubject === true, resources: addResource },
      options,
      clock,
    ),
  };
}

/** What is wrong with the combination of options, if anything. */
function misusedOption(options: UpdateOptions): string | undefined {
  const { name, scope, addKey, removeKey, addSubject, removeSubject, addResource, removeResource } = options;
  const { issuer, subject, claim = {}, expiresIn, expiresAt } = options;
  const hasSubject = addSubject || removeSubject;
  if (hasSubject && (issuer === undefined || subject === undefined))
    return 'A federated subject needs --issuer and --subject.';
  if (!hasSubject && (issuer ?? subject) !== undefined)
    return '--issuer and --subject need --add-subject or --remove-subject.';
  if (!addSubject && Object.keys(claim).length > 0) return `--claim needs --add-subject${NOT_TOKEN_CLAIMS}`;
  if (options.resourceScope !== undefined && options.addResource === undefined)
    return '--resource-scope needs --add-resource.';
  if (addKey === undefined && (expiresIn ?? expiresAt) !== undefined)
    return 'Only a key that is added can expire: give --add-key.';
  const change = name ?? scope ?? addKey ?? removeKey ?? addSubject ?? removeSubject ?? addResource ?? removeResource;
  return change !== undefined || Object.keys(fieldsGiven(options)).length > 0
    ? undefined
    : 'Give what to change, such as --name or --add-key.';
}
