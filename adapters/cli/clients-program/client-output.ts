import type { ListedClient } from '../../../application/clients-program/list-clients.ts';
import type { ClientDocument, ExpiryDocument } from '../../../domain/client-document.ts';
import { uriOf } from '../../../domain/resource-indicator.ts';
import type { Output } from '../outcome.ts';
import { shortened } from '../printable.ts';
import { fieldsOf, fieldTable, type Rows, textTable } from '../text-table.ts';
import { rowsOfFields } from './client-field-options.ts';

/** The columns of a list. */
export const LIST_COLUMNS = [
  'id',
  'client_id',
  'client_name',
  'scope',
  'state',
  'bcrypt_cost',
  'authentication_methods',
  'owner',
  'tokens',
] as const;

/** The longest value in a list for people, in characters. `--json` shows more. */
export const CELL_MAX = 200;

/** What every output of one client shows. */
const REGISTRATION = ['id', 'client_id', 'client_name', 'scope', 'state', 'bcrypt_cost', 'problem'] as const;

/** The registration of a client, without how it authenticates. */
export function registrationOf(client: ClientDocument): Pick<ClientDocument, (typeof REGISTRATION)[number]> {
  return Object.fromEntries(REGISTRATION.map((name) => [name, client[name]])) as ReturnType<typeof registrationOf>;
}

/** What is shown of a client: all, or its registration alone. */
interface ShownClient {
  readonly client: ClientDocument;
  readonly isBrief?: boolean;
  /** A generated secret, to show once. */
  readonly secret?: string | undefined;
}

/** One client, with warnings if the service refuses it, and of what is probably a mistake. */
export function clientOutput({ client, isBrief, secret }: ShownClient, messages: readonly string[] = []): Output {
  const { id, client_id, ...rest } = registrationOf(client);
  const once =
    secret === undefined ? [] : ['The secret is shown only this once: the table stores only its BCrypt hash.'];
  const warnings = /^\p{Z}|\p{Z}$/u.test(client_id) ? ['The id begins or ends with a space, which belongs to it.'] : [];
  const shown = { id, client_id, ...(secret !== undefined && { client_secret: secret }), ...rest };
  const problems = [
    ...(client.problem === null ? [] : [client.problem]),
    ...(isBrief || client.authentication_methods.length > 0 ? [] : ['it has nothing valid to authenticate with']),
  ];
  return {
    document: isBrief ? shown : { ...shown, ...client },
    text: () => fieldTable([...fieldsOf(shown), ...(isBrief ? [] : rowsOfCredentials(client))]),
    messages: [...messages, ...once, ...warnings, ...problems.map((it) => `The service refuses this client: ${it}.`)],
  };
}

/** The secrets of a client. */
export function secretsOutput({ secrets }: ClientDocument): Output {
  const rows = secrets.map((secret) => {
    const { secret_id, name, bcrypt_cost } = secret;
    return [secret_id ?? '(no id)', name ?? '', `${bcrypt_cost}`, describeExpiry(secret)];
  });
  const table = [['secret_id', 'name', 'bcrypt_cost', 'validity'], ...rows];
  return { document: secrets, text: () => textTable(table), messages: [] };
}

/** The row of a client in a list. */
export function listedRow({ authentication_methods, ...client }: ListedClient): readonly string[] {
  const shown = {
    ...client,
    authentication_methods: authentication_methods.join(', '),
    tokens: describeTokens(client),
  };
  return LIST_COLUMNS.map((column) => shortened(String(shown[column] ?? ''), CELL_MAX));
}

/** What its tokens have beside those of other clients. */
function describeTokens({ resources, claims, token_lifetime_seconds }: Omit<ListedClient, 'authentication_methods'>) {
  const names = Object.keys(Object(claims));
  return [
    ...(names.length === 0 ? [] : [`claims ${names.join(', ')}`]),
    ...(token_lifetime_seconds === null ? [] : [`at most ${token_lifetime_seconds} s`]),
    ...(resources.length === 0 ? [] : [`for ${resources.map(uriOf).join(', ')}`]),
  ].join('; ');
}

/** What is wrong with clients of a list, which is not part of its table, and what follows: a line for each. */
export function problemsOf(
  clients: readonly Pick<ClientDocument, 'id' | 'client_id' | 'problem'>[],
  effect = 'it gets no token',
): readonly string[] {
  return clients
    .filter(({ problem }) => problem !== null)
    .map(({ id, client_id, problem }) => {
      return `Row ${id}, client ${shortened(client_id, CELL_MAX)}: ${problem}; ${effect}.`;
    });
}

/** What follows for a change by command of a client that a file has. */
export function warningOfOwner({ owner }: ClientDocument): readonly string[] {
  return owner === null ? [] : [`It belongs to ${owner}: where its file says otherwise, the next apply undoes this.`];
}

function rowsOfCredentials(client: ClientDocument): Rows {
  const { authentication_methods, secrets, keys, federated_subjects, resources } = client;
  return [
    ['authenticates by', authentication_methods.join(', ') || 'nothing'],
    ...secrets.map((secret) => {
      const what = secret.secret_id === null ? 'without an id' : `${secret.secret_id} (${secret.name})`;
      return ['secret', `${what}, BCrypt cost ${secret.bcrypt_cost}, ${describeExpiry(secret)}`];
    }),
    ...keys.map(({ key_id, kid, algorithms, ...expiry }) => {
      const named = kid === null ? '' : `kid ${kid}, `;
      return ['key', `${key_id} (${named}${algorithms.join(' or ')}), ${describeExpiry(expiry)}`];
    }),
    ...federated_subjects.map(({ issuer, subject, claims }) => {
      const conditions = Object.entries(claims).map(([path, value]) => ` with ${path}=${value}`);
      return ['federated subject', `${subject} of ${issuer}${conditions.join('')}`];
    }),
    ...resources.map((entry) => {
      return ['resource', typeof entry === 'string' ? entry : `${entry.resource} with the scopes ${entry.scope}`];
    }),
    ...rowsOfFields(client),
  ];
}

function describeExpiry({ expires_at, expired }: ExpiryDocument): string {
  if (expires_at === null) return 'never expires';
  const time = new Date(expires_at * 1_000).toISOString().replace('.000Z', 'Z');
  return expired ? `expired at ${time}` : `expires at ${time}`;
}
