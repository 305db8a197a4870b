import {
  type ClientColumns,
  ClientRegistration,
  type ClientRegistrationFields,
} from '../domain/client-registration.ts';
import {
  readConditions,
  readKeys,
  readResources,
  readTokenFields,
  type StoredDocument,
  selectSecret,
} from '../domain/details-document.ts';
import type { Problem } from '../domain/problem.ts';
import { NO_SECRET, StoredSecret } from '../domain/stored-secret.ts';
import type {
  ClientKeys,
  ClientLookup,
  ClientSecret,
  FederatedCandidate,
  FederatedIdentity,
} from './ports/client-repository.ts';

/** What a stored registration means: it is broken if it breaks a rule of the domain. */
export function lookupOf(fields: ClientRegistrationFields): Exclude<ClientLookup, { kind: 'unknown' }> {
  const registration = ClientRegistration.of(fields);
  return registration.ok
    ? { kind: 'found', registration: registration.value }
    : { kind: 'broken', problem: registration.problem };
}

/** What a stranger makes a storage read of a client: its columns that authenticate. */
export interface CredentialRow<Document = string> extends Pick<ClientColumns, 'clientId' | 'clientSecret'> {
  /** A JSON object: as text, or read already. */
  readonly credentials: Document;
}

/** A whole row. */
export interface ClientRow<Document = string> extends ClientColumns, CredentialRow<Document> {
  /** As `credentials`. */
  readonly details: Document;
}

type Column = string | StoredDocument;

/** More than valid columns have, in bytes of JSON with spaces: a storage returns `null` in place of longer ones. */
export const COLUMN_BYTES_MAX = { credentials: 8_192, details: 131_072 } as const;

const EMPTY: StoredDocument = {};

function parseColumn(column: Column): StoredDocument {
  if (typeof column !== 'string') return column;
  return column === '{}' ? EMPTY : Object(JSON.parse(column));
}

/**
 * Picks a registered client by a client id that is not registered: its row is read in the place of the missing one, so
 * that the time of a refusal does not tell which clients exist. The same id has the same pick in all replicas that
 * share a key.
 *
 * @param range the clients have numbers up to this one.
 * @returns a number from 1 to `range`; 0 if that is 0.
 */
export type PickDecoy = (clientId: string, range: number) => number;

/** Read in the place of an unknown client where none is registered. */
export const NOBODY: CredentialRow = { clientId: '', clientSecret: NO_SECRET, credentials: '{}' };

/**
 * The secret that an id selects, and whether it is that of the client.
 *
 * @param row of the client, or in its place of another one, which has all the same done.
 */
export function secretOfRow(
  row: CredentialRow<Column>,
  { clientId, secretId }: { readonly clientId: string; readonly secretId: string | undefined },
  now: number,
): ClientSecret {
  const secret = StoredSecret.parse(selectSecret(row.clientSecret, parseColumn(row.credentials), now, secretId));
  return { secret, isRegistered: row.clientId === clientId };
}

const unreadable = (field: 'credentials' | 'details'): ClientLookup & { kind: 'broken' } => {
  return { kind: 'broken', problem: { field, rule: 'must be an object of moderate size' } };
};

/** The registration that a row means, with the secret that an id selects. */
export function lookupOfRow(
  row: ClientRow<Column>,
  now: number,
  secretId?: string,
): Exclude<ClientLookup, { kind: 'unknown' }> {
  if (row.credentials === 'null') return unreadable('credentials');
  if (row.details === 'null') return unreadable('details');
  const [credentials, details] = [parseColumn(row.credentials), parseColumn(row.details)];
  const clientSecret = selectSecret(row.clientSecret, credentials, now, secretId);
  return lookupOf({ ...row, clientSecret, resources: readResources(details), ...readTokenFields(details) });
}

/** A key that nobody can have: no point has these coordinates. Read where a row has none of the kid. */
const A_KEY: StoredDocument = {
  jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43), kid: 'none', alg: 'ES256' }] },
};

/**
 * The keys of a row, and whether it is that of the client.
 *
 * @param row as in `secretOfRow`.
 * @param kid reads only the keys of this name, so that their number takes no time.
 */
export function keysOfRow(
  row: CredentialRow<Column>,
  { clientId, kid }: { readonly clientId: string; readonly kid: string | undefined },
  log: (line: BrokenRegistration) => void,
): ClientKeys {
  const isRegistered = row.clientId === clientId;
  const read = readKeys(parseColumn(row.credentials), kid);
  if (read.length === 0) readKeys(A_KEY);
  const keys = read.flatMap((key) => {
    if (key.ok) return key.value;
    if (isRegistered) log({ event: 'registration_broken', client_id: clientId, field: 'jwks', rule: key.problem });
    return [];
  });
  return { keys, isRegistered };
}

/** What the row of a client with rules means for an identity. */
export function candidatesOfRow(
  row: ClientRow<Column>,
  identity: FederatedIdentity,
  now: number,
): readonly FederatedCandidate[] {
  const lookup = lookupOfRow(row, now);
  return readConditions(parseColumn(row.credentials), identity).map((claims) => ({
    clientId: row.clientId,
    lookup,
    claims,
  }));
}

/** A storage without a single client is allowed, and probably a mistake: for `/readyz` and the log. */
export const NO_CLIENT: Problem = {
  code: 'no_client_registered',
  text: 'no client is registered, so nobody gets a token',
  fix: 'npm run clients -- add <client-id> --name … --scope …',
};

/** What to do about lost registrations: empty ones in their place would have every client refused. */
export const BRING_BACK = 'bring it back, from a backup or from where it was moved to';

/** A row that needs repair, for the log: the rule that a field breaks. */
export interface BrokenRegistration {
  readonly event: 'registration_broken';
  readonly client_id: string;
  readonly field: string;
  readonly rule: string;
}

/** Logs a registration that breaks a rule. */
export function logBroken(log: (line: BrokenRegistration) => void, client_id: string, lookup: ClientLookup): void {
  if (lookup.kind === 'broken') log({ event: 'registration_broken', client_id, ...lookup.problem });
}
