import {
  type ClientColumns,
  ClientRegistration,
  type ClientRegistrationFields,
  isClientId,
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
import { StoredSecret } from '../domain/stored-secret.ts';
import type { ClientLookup, ClientWithKeys, FederatedCandidate, FederatedIdentity } from './ports/client-repository.ts';

/** What a stored registration means: it is broken if it breaks a rule of the domain. */
export function lookupOf(fields: ClientRegistrationFields): Exclude<ClientLookup, { kind: 'unknown' }> {
  const registration = ClientRegistration.of(fields);
  return registration.ok
    ? { kind: 'found', registration: registration.value }
    : { kind: 'broken', problem: registration.problem };
}

/** Whether a storage can have the id. A driver would send half a surrogate pair as U+FFFD, which another client id may contain. */
export function isStorable(clientId: string): boolean {
  return isClientId(clientId) && clientId.isWellFormed();
}

/** A row of a storage: the columns of a client, and of its details at least what the look-up needs. */
export interface ClientRow<Details = string> extends ClientColumns {
  /** A JSON object: as text, or read already. */
  readonly details: Details;
}

type AnyRow = ClientRow<string | StoredDocument>;

/** More than valid details have without subjects, in bytes: a storage returns `null` in place of longer ones. */
export const DETAILS_BYTES_MAX = 131_072;

const EMPTY: StoredDocument = {};

/** The details of a row. */
export function parseDetails({ details }: Pick<AnyRow, 'details'>): StoredDocument {
  if (typeof details !== 'string') return details;
  return details === '{}' ? EMPTY : Object(JSON.parse(details));
}

/**
 * The secret of a client that an id selects. The one without an id may have expired, which `lookupOfRow` knows.
 *
 * @param row its secret without an id, and of its details at least the secrets.
 */
export function secretOfRow(
  row: Pick<AnyRow, 'clientSecret' | 'details'>,
  now: number,
  secretId?: string,
): StoredSecret {
  return StoredSecret.parse(selectSecret(row.clientSecret, parseDetails(row), now, secretId));
}

const UNREADABLE: ClientLookup & { kind: 'broken' } = {
  kind: 'broken',
  problem: { field: 'details', rule: 'must be an object of moderate size' },
};

/** The registration that a row means, with the secret that an id selects. */
export function lookupOfRow(
  row: AnyRow,
  now: number,
  secretId?: string,
  document = parseDetails(row),
): Exclude<ClientLookup, { kind: 'unknown' }> {
  if (row.details === 'null') return UNREADABLE;
  const clientSecret = selectSecret(row.clientSecret, document, now, secretId);
  return lookupOf({ ...row, clientSecret, resources: readResources(document), ...readTokenFields(document) });
}

/** A key that nobody can have: no point has these coordinates. */
const NO_KEYS = JSON.stringify({
  jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43), kid: 'none', alg: 'ES256' }] },
});

/**
 * The keys of a row, and its registration, which is read later. Without a row, or without such a key, the same work is done with a key that
 * nobody has.
 *
 * @param other the row of another client, read in the place of the one that is missing.
 * @param kid reads only the keys of this name, so that their number takes no time.
 */
export function keysOfRow(
  row: AnyRow | undefined,
  other: AnyRow | undefined,
  log: (line: BrokenRegistration) => void,
  now: number,
  kid?: string,
): ClientWithKeys {
  const document = parseDetails({ details: (row ?? other)?.details ?? '{}' });
  const keys = readKeys(document, kid);
  if (keys.length === 0) readKeys(parseDetails({ details: NO_KEYS }));
  if (row === undefined) return { isRegistered: false, lookup: { kind: 'unknown' }, keys: [] };
  const usable = keys.flatMap((key) => {
    if (!key.ok) log({ event: 'registration_broken', client_id: row.clientId, field: 'jwks', rule: key.problem });
    return key.ok ? key.value : [];
  });
  return {
    isRegistered: true,
    get lookup() {
      const lookup = lookupOfRow(row, now, undefined, document);
      logBroken(log, row.clientId, lookup);
      return lookup;
    },
    keys: usable,
  };
}

/** What the row of a client with rules means for an identity. */
export function candidatesOfRow(row: AnyRow, identity: FederatedIdentity, now: number): readonly FederatedCandidate[] {
  const document = parseDetails(row);
  const lookup = lookupOfRow(row, now, undefined, document);
  return readConditions(document, identity).map((claims) => ({ clientId: row.clientId, lookup, claims }));
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
