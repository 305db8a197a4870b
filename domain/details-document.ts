import { type ClientDetails, type ClientKey, CREDENTIAL_FIELDS, type FederatedSubject } from './client-details.ts';
import { CLIENT_FIELD_NAMES, TOKEN_FIELD_NAMES, type TokenFieldName } from './client-fields.ts';
import { readPublicJwk } from './public-jwk.ts';
import { isResourceIndicator, type RegisteredResource } from './resource-indicator.ts';
import { failure, type Result, success } from './result.ts';
import { Scope } from './scope.ts';
import { CHOSEN_SECRET_COST, isLocked, NO_SECRET, StoredSecret, unlock } from './stored-secret.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The most bytes of the column `credentials`: it stays in the row, and each request of a stranger reads it. */
export const CREDENTIALS_BYTES_MAX = 6_144;

/** A document in two parts, each for its column. */
export function columnsOf(document: Partial<ClientDetails>): Readonly<Record<'credentials' | 'details', Fields>> {
  const entries = Object.entries(document);
  const part = (isCredential: boolean) =>
    Object.fromEntries(entries.filter(([field]) => CREDENTIAL_FIELDS.includes(field) === isCredential));
  return { credentials: part(true), details: part(false) };
}

/** The field that makes the column `credentials` too long, the longest one, and by how much; undefined if it is not. */
export function excessOf(
  details: Partial<ClientDetails>,
): { readonly field: keyof ClientDetails; readonly bytes: number } | undefined {
  const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length;
  const { credentials } = columnsOf(details);
  const bytes = bytesOf(credentials);
  if (bytes <= CREDENTIALS_BYTES_MAX) return undefined;
  const [[field] = []] = Object.entries(credentials).sort(([, one], [, other]) => bytesOf(other) - bytesOf(one));
  return { field: field as keyof ClientDetails, bytes };
}

/** The document of two columns, or which field is not where it is read. */
export function documentIn(credentials: unknown, details: unknown): Result<Fields, string> {
  if (!isObject(credentials) || !isObject(details)) return failure('must be an object');
  const misplaced =
    Object.keys(details).find((field) => CREDENTIAL_FIELDS.includes(field)) ??
    Object.keys(credentials).find((field) => DETAIL_COLUMN_FIELDS.includes(field));
  if (misplaced === undefined) return success({ ...credentials, ...details });
  return failure(`${misplaced} is in the wrong one of the columns credentials and details`);
}

const DETAIL_COLUMN_FIELDS: readonly string[] = ['resources', ...CLIENT_FIELD_NAMES];

/** A document as it is stored. Another program may have written anything into it. */
export type StoredDocument = Fields;

/**
 * The stored secret that a presented one is compared with: the one that its id selects, if there is one that is valid
 * now, otherwise the one without an id, which may have expired: then there is none. The lock of a disabled client
 * counts for both.
 *
 * @param stored the secret without an id, with the lock if there is one.
 */
export function selectSecret(stored: string, document: StoredDocument, now: number, secretId?: string): string {
  if (isLocked(stored)) return stored;
  const { client_secret_expires_at: end = Infinity } = document;
  const own = Number(end) > now ? stored : NO_SECRET;
  if (secretId === undefined) return own;
  const named = objectsIn(document['secrets']).find(({ secret_id }) => secret_id === secretId);
  const { client_secret: encoded, expires_at = Infinity } = named ?? {};
  return typeof encoded === 'string' && Number(expires_at) > now ? encoded : own;
}

/**
 * Whether somebody may have chosen a valid secret that is stored at less than {@link CHOSEN_SECRET_COST}, so that it
 * can be guessed from the table.
 */
export function hasWeakSecret(stored: string, document: StoredDocument, now: number): boolean {
  const { client_secret_expires_at, client_secret_generated } = document;
  const own = {
    client_secret: unlock(stored),
    expires_at: client_secret_expires_at,
    generated: client_secret_generated,
  };
  return [own, ...objectsIn(document['secrets'])].some(({ client_secret, expires_at = Infinity, generated }) => {
    const { kind, cost } = StoredSecret.parse(String(client_secret));
    return kind === 'bcrypt' && cost < CHOSEN_SECRET_COST && generated !== true && Number(expires_at) > now;
  });
}

/** The keys, or which rule each one breaks; with a `kid`, only those of that name. */
export function readKeys({ jwks }: StoredDocument, kid?: string): readonly Result<ClientKey, string>[] {
  const keys = objectsIn(Object(jwks).keys).filter((jwk) => kid === undefined || jwk['kid'] === kid);
  return keys.map(({ expires_at, ...jwk }) => {
    const read = readPublicJwk(jwk);
    if (!read.ok) return failure(read.problem);
    // A time that is no number has passed.
    return success({ ...read.value, ...(expires_at !== undefined && { expires_at: Number(expires_at) || 0 }) });
  });
}

/** The resources that a client may name. */
export function readResources({ resources }: StoredDocument): readonly RegisteredResource[] {
  return Array.isArray(resources) ? resources.filter(isResource) : [];
}

/** One whose scopes cannot be read gets no token: without them, it would get those of the registration. */
function isResource(value: unknown): value is RegisteredResource {
  if (typeof value === 'string') return true;
  const { resource, scope } = Object(value);
  return isText(resource) && isResourceIndicator(resource) && isText(scope) && Scope.parse(scope).ok;
}

/** What the registration says about the tokens of a client. A row may hold anything: ClientRegistration checks it. */
export function readTokenFields(document: StoredDocument): Partial<Record<TokenFieldName, unknown>> {
  const given = TOKEN_FIELD_NAMES.filter((name) => document[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, document[name]]));
}

/** The conditions of each rule for an identity: texts by claim paths, or undefined for anything else. */
export function readConditions(
  document: StoredDocument,
  { issuer, subject }: Pick<FederatedSubject, 'issuer' | 'subject'>,
): readonly (FederatedSubject['claims'] | undefined)[] {
  return objectsIn(document['federated_subjects'])
    .filter((rule) => rule['issuer'] === issuer && rule['subject'] === subject)
    .map(({ claims }) => (isObject(claims) && Object.values(claims).every(isText) ? claims : undefined));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectsIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}
