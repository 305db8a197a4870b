import type { DescribedClient, DescribedCredentials } from '../../application/clients/described-credentials.ts';
import { type Success, success } from '../../domain/result.ts';
import { describeProblem, documentOf } from './client-answer.ts';
import type { Answer } from './outcome.ts';
import { printable, shortened } from './printable.ts';
import { textTable } from './text-table.ts';

/** The longest value that a table for people shows, in characters. `--json` shows more. */
const VALUE_MAX = 2_000;

/** Credentials as `--json` prints them: members as in a clients file, times in seconds since the epoch. */
export function credentialsDocumentOf({ methods, secrets, keys, subjects, resources }: DescribedCredentials) {
  return {
    authentication_methods: methods,
    secrets: secrets.map(({ secretId, name, expiresAt, isExpired }) => {
      return { secret_id: secretId, name, expires_at: expiresAt, expired: isExpired };
    }),
    keys: keys.map(({ keyId, kid, type, algorithms, expiresAt, isExpired }) => {
      return { key_id: keyId, kid, kty: type, algorithms, expires_at: expiresAt, expired: isExpired };
    }),
    federated_subjects: subjects,
    resources,
  };
}

/**
 * One client with everything that authenticates it, and warnings if the service refuses it.
 *
 * @param secret a generated secret, to show once.
 */
export function credentialsAnswer(
  { client, credentials }: DescribedClient,
  messages: readonly string[],
  secret?: string,
): Success<Answer> {
  const { id, client_id, ...rest } = documentOf(client);
  const shown = { id, client_id, ...(secret !== undefined && { client_secret: secret }), ...rest };
  const warnings = [
    ...(client.problem === null ? [] : [`The service refuses this client: ${describeProblem(client.problem)}.`]),
    ...(credentials.methods.length > 0
      ? []
      : ['The service refuses this client: it has nothing valid to authenticate with.']),
  ];
  return success({
    document: { ...shown, ...credentialsDocumentOf(credentials) },
    text: () => textTable([...rowsOf(shown), ...rowsOfCredentials(credentials)].map(toCells), { heading: false }),
    messages: [...messages, ...warnings],
  });
}

/** The secrets of a client, for people. */
export function secretsTable({ secrets }: DescribedCredentials): string {
  const rows = secrets.map(({ secretId, name, ...expiring }) => [
    secretId ?? '(no id)',
    name ?? '',
    describeExpiry(expiring),
  ]);
  return textTable([['secret_id', 'name', 'validity'], ...rows.map((row) => row.map(printable))], { heading: true });
}

function rowsOf(document: object): readonly (readonly string[])[] {
  return Object.entries(document)
    .filter(([, value]) => value !== null)
    .map(([member, value]) => [member, String(value)]);
}

function rowsOfCredentials({
  methods,
  secrets,
  keys,
  subjects,
  resources,
}: DescribedCredentials): readonly (readonly string[])[] {
  return [
    ['authenticates by', methods.join(', ') || 'nothing'],
    ...secrets.map(({ secretId, name, ...expiring }) => {
      const what = secretId === null ? 'without an id' : `${secretId} (${name})`;
      return ['secret', `${what}, ${describeExpiry(expiring)}`];
    }),
    ...keys.map(({ keyId, kid, algorithms, ...expiring }) => {
      const named = kid === null ? '' : `kid ${kid}, `;
      return ['key', `${keyId} (${named}${algorithms.join(' or ')}), ${describeExpiry(expiring)}`];
    }),
    ...subjects.map(({ issuer, subject, claims }) => {
      const conditions = Object.entries(claims).map(([path, value]) => ` with ${path}=${value}`);
      return ['federated subject', `${subject} of ${issuer}${conditions.join('')}`];
    }),
    ...resources.map((resource) => ['resource', resource]),
  ];
}

function toCells(row: readonly string[]): readonly string[] {
  return row.map((text) => printable(shortened(text, VALUE_MAX)));
}

function describeExpiry({
  expiresAt,
  isExpired,
}: {
  readonly expiresAt: number | null;
  readonly isExpired: boolean;
}): string {
  if (expiresAt === null) return 'never expires';
  const time = new Date(expiresAt * 1_000).toISOString().replace('.000Z', 'Z');
  return isExpired ? `expired at ${time}` : `expires at ${time}`;
}
