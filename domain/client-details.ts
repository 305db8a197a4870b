import { type ClientFields, NO_FIELDS } from './client-fields.ts';
import type { PublicJwk } from './public-jwk.ts';
import type { RegisteredResource } from './resource-indicator.ts';

/** What authenticates its client until some time. */
export interface Expiring {
  /** The first second in which it is no longer valid, in seconds since the epoch. Absent: it never expires. */
  readonly expires_at?: number;
}

/** What makes a secret of the client: its end, and where it comes from. */
export interface SecretMarks extends Expiring {
  /** It is 256 random bits of this program, so that no BCrypt cost is too low. Absent: somebody may have chosen it. */
  readonly generated?: true;
}

/** A secret beside the one of the registration, so that a client can change its secret without a pause. */
export interface NamedSecret extends SecretMarks {
  /** The public part, which stands in front of the secret and a dot, and selects it: letters, digits and `-_~`. */
  readonly secret_id: string;
  /** For people. */
  readonly name: string;
  /** A BCrypt encoding; in memory also `{noop}` and the plain secret. */
  readonly client_secret: string;
}

/** A key that verifies assertions of the client (`private_key_jwt`), with its end among the fields of the JWK. */
export type ClientKey = PublicJwk & Expiring;

/** An identity of another issuer that may act as the client (`federated_jwt`). Everything is compared exactly. */
export interface FederatedSubject {
  /** Claim `iss`, or the ID of a SPIFFE trust domain, such as `spiffe://example.org`. */
  readonly issuer: string;
  /** Claim `sub`. */
  readonly subject: string;
  /** Further claims that must have these values, by their paths. */
  readonly claims: Readonly<Record<string, string>>;
}

/** What an authentication needs: the column `credentials`, which the request of a stranger makes the service read. */
interface ClientCredentials {
  /** The end of the secret in the column `client_secret`, which has no id. Absent: it never expires. */
  readonly client_secret_expires_at?: number;
  /** As {@link SecretMarks.generated}, of that secret. */
  readonly client_secret_generated?: true;
  readonly secrets: readonly NamedSecret[];
  readonly jwks: { readonly keys: readonly ClientKey[] };
  readonly federated_subjects: readonly FederatedSubject[];
}

/**
 * What a registration has beside the five columns of the specification. It is one document, the same in clients files,
 * in the columns `credentials` and `details`, in exports and in the API. `--json` and audit events show of secrets and
 * keys only what is no secret.
 */
export interface ClientDetails extends ClientCredentials, ClientFields {
  /** The resources that the client may name in a token request (RFC 8707). */
  readonly resources: readonly RegisteredResource[];
}

const NO_ENTRIES = { secrets: [], jwks: { keys: [] }, federated_subjects: [], resources: [] } as const;

export const NO_DETAILS = { ...NO_ENTRIES, ...NO_FIELDS } satisfies ClientDetails;

/** The fields of the column `credentials`. All others are in `details`, which is read after authentication. */
export const CREDENTIAL_FIELDS: readonly string[] = [
  'client_secret_expires_at',
  'client_secret_generated',
  'secrets',
  'jwks',
  'federated_subjects',
] satisfies (keyof ClientCredentials)[];

/** Only the fields that are not empty. */
export function withoutEmpty<Details extends object>(details: Details): Partial<Details> {
  const says = (field: unknown) => field !== null && (typeof field !== 'object' || Object.keys(field).length > 0);
  const fields = Object.entries(details).filter(([name, field]) => says(name === 'jwks' ? field.keys : field));
  return Object.fromEntries(fields) as Partial<Details>;
}

/** The lists of entries, by their fields. */
export const entriesOf = ({ secrets, jwks, federated_subjects, resources }: ClientDetails) => ({
  secrets,
  jwks: jwks.keys,
  federated_subjects,
  resources,
});

/** The most entries of each list. */
export const DETAILS_MAX = { secrets: 2, jwks: 10, federated_subjects: 50, resources: 20 } as const;

/** What the details say of the secret without an id. */
export function marksOf({
  client_secret_expires_at: expires_at,
  client_secret_generated: generated,
}: Partial<ClientDetails>): SecretMarks {
  return { ...(expires_at !== undefined && { expires_at }), ...(generated && { generated }) };
}

/** The details with other marks of the secret without an id. */
export function withMarks<Details extends Partial<ClientDetails>>(
  details: Details,
  { expires_at, generated }: SecretMarks,
) {
  const { client_secret_expires_at: _end, client_secret_generated: _origin, ...others } = details;
  return {
    ...(expires_at !== undefined && { client_secret_expires_at: expires_at }),
    ...(generated && { client_secret_generated: generated }),
    ...others,
  };
}

export function hasExpired({ expires_at = Infinity }: Expiring, now: number): boolean {
  return expires_at <= now;
}
