import type { AuthenticationMethod } from '../../domain/authentication-method.ts';
import { hasExpired, type NamedSecret, SHOWN_OF_SECRET } from '../../domain/client-details.ts';
import type {
  ClientDocument,
  CredentialsDocument,
  ExpiryDocument,
  RecordedSecret,
} from '../../domain/client-document.ts';
import {
  ClientRegistration,
  type ClientRegistrationFields,
  describeProblem,
} from '../../domain/client-registration.ts';
import { algorithmsOf } from '../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { isLocked, NO_SECRET, StoredSecret, unlock } from '../../domain/stored-secret.ts';
import { DISPLAYED_TEXT_MAX, type FoundClients, type StoredDetails, type ValidDetails } from '../ports/client-store.ts';

/** A client with its credentials, without any secret. */
export interface DescribedClient {
  readonly client: ClientDocument;
  readonly credentials: CredentialsDocument;
}

/** A client as it is stored, and as it is shown. */
export interface DescribedRow<Fields extends ClientRegistrationFields = ClientRegistrationFields> {
  readonly fields: Fields;
  readonly client: ClientDocument;
}

/**
 * Describes clients in the order of their ids. Two clients with the same id both have a problem.
 *
 * @param previousId the id of the client before the first one.
 */
function describeInOrder<Fields extends ClientRegistrationFields>(
  clients: readonly Fields[],
  previousId?: string,
): readonly DescribedRow<Fields>[] {
  return clients.map((fields, index) => {
    const before = index === 0 ? previousId : clients[index - 1]?.clientId;
    const isRepeated = fields.clientId === before || fields.clientId === clients[index + 1]?.clientId;
    return { fields, client: describe(fields, isRepeated ? 'client_id must be unique' : null) };
  });
}

/** Describes pages of clients. The last client of each page waits for the next page, which may have another client of the same id. */
export async function* describePages<Fields extends ClientRegistrationFields>(
  pages: AsyncIterable<readonly Fields[]>,
): AsyncGenerator<readonly DescribedRow<Fields>[]> {
  let previousId: string | undefined;
  let waiting: readonly Fields[] = [];
  for await (const page of pages) {
    const clients = [...waiting, ...page];
    waiting = clients.slice(-1);
    yield describeInOrder(clients, previousId).slice(0, -1);
    previousId = clients.at(-2)?.clientId ?? previousId;
  }
  yield describeInOrder(waiting, previousId);
}

/** Describes the client of one id. Storage may have several; the first is described. */
export function describeClient(clients: readonly ClientRegistrationFields[]): Result<ClientDocument, 'client_unknown'> {
  const [row] = describeInOrder(clients);
  return row === undefined ? failure('client_unknown') : success(row.client);
}

/** The same with everything that authenticates the client. */
export function describeWithCredentials(
  { clients, details }: FoundClients,
  now: number,
): Result<DescribedClient, 'client_unknown'> {
  const client = describeClient(clients);
  if (!client.ok) return client;
  const credentials = describeCredentials(clients[0]?.clientSecret ?? '', details, now);
  return success({ client: client.value, credentials });
}

/** Describes credentials, also those of a disabled client, which come back when it is enabled. */
function describeCredentials(clientSecret: string, details: StoredDetails, now: number): CredentialsDocument {
  const withoutId: readonly Partial<NamedSecret>[] = hasSecretWithoutId(clientSecret) ? [{}] : [];
  const secrets = [...withoutId, ...details.secrets].map((secret) => {
    const bcrypt_cost = costOf(secret.encoded ?? unlock(clientSecret));
    return { ...shownOf(secret), bcrypt_cost, expired: hasExpired(secret, now) };
  });
  const keys = details.keys.map((key) => {
    const { key_id, jwk, expires_at = null } = key;
    const { kid = null, kty } = jwk;
    return { key_id, kid, kty, algorithms: algorithmsOf(jwk), expires_at, expired: hasExpired(key, now) };
  });
  const isValid = ({ expired }: ExpiryDocument) => !expired;
  return {
    authentication_methods: methodsOf({
      secret: secrets.some(isValid),
      key: keys.some(isValid),
      subject: details.subjects.length > 0,
    }),
    secrets,
    keys,
    federated_subjects: details.subjects,
    resources: details.resources,
  };
}

/** @param secret has no member if it is the one without an id. */
function shownOf(secret: Partial<NamedSecret>): RecordedSecret {
  const members = SHOWN_OF_SECRET.map((member) => [member, secret[member] ?? null]);
  return Object.fromEntries(members) as RecordedSecret;
}

/** The methods for which a client has something that is valid. */
export function methodsOf(has: ValidDetails): readonly AuthenticationMethod[] {
  return [
    ...(has.secret ? (['client_secret_post', 'client_secret_basic'] as const) : []),
    ...(has.key ? (['private_key_jwt'] as const) : []),
    ...(has.subject ? (['federated_jwt'] as const) : []),
  ];
}

/** Whether the table of the clients has a secret that can match, now or when the client is enabled. */
export function hasSecretWithoutId(stored: string): boolean {
  return StoredSecret.parse(unlock(stored)).kind !== 'unusable';
}

/** @param repetition the problem of an id that another client has too. */
function describe(stored: ClientRegistrationFields, repetition: string | null): ClientDocument {
  const fields = { ...stored, scope: wholeTokens(stored.scope) };
  const problem = repetition ?? problemOf(fields);
  return {
    id: fields.id,
    client_id: fields.clientId,
    client_name: fields.clientName,
    scope: fields.scope,
    state: isLocked(fields.clientSecret) ? 'disabled' : problem === null ? 'enabled' : 'broken',
    bcrypt_cost: costOf(unlock(fields.clientSecret)),
    problem,
  };
}

/** Null if it is not a BCrypt encoding. */
function costOf(encoded: string): number | null {
  return StoredSecret.parse(encoded).cost || null;
}

function problemOf(client: ClientRegistrationFields): string | null {
  const registration = ClientRegistration.of(client);
  if (!registration.ok) return describeProblem(registration.problem);
  const stored = unlock(client.clientSecret);
  const isUsable = costOf(stored) !== null || stored === NO_SECRET;
  return isUsable ? null : 'client_secret must be a BCrypt encoding of cost 4 to 14';
}

/** A scope that was cut while it was read, without the token in which it ends: a part of a token is no token. */
function wholeTokens(scope: string): string {
  const end = scope.length < DISPLAYED_TEXT_MAX ? -1 : scope.lastIndexOf(' ');
  return end === -1 ? scope : scope.slice(0, end);
}
