import { type ClientFields, eachField, NO_FIELDS } from './client-fields.ts';
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

/**
 * A secret beside the one of the registration, so that a client can change its secret without a pause. Clients files and the column
 * `credentials` have it as it is, with `client_secret` for `encoded`; `--json` and audit events show its id, its name and its end.
 */
export interface NamedSecret extends SecretMarks {
  /** The public part, which stands in front of the secret and a dot, and selects it: letters, digits and `-_~`. */
  readonly secret_id: string;
  /** For people. */
  readonly name: string;
  /** A BCrypt encoding; in memory also `{noop}` and the plain secret. Called `client_secret` in a clients file. */
  readonly encoded: string;
}

/**
 * A key that verifies assertions of the client (`private_key_jwt`). Clients files and the column `credentials` have `expires_at` among the fields
 * of the JWK; `--json` and audit events show its ids and its end.
 */
export interface ClientKey extends Expiring {
  readonly jwk: PublicJwk;
}

/** An identity of another issuer that may act as the client (`federated_jwt`), the same everywhere. Everything is compared exactly. */
export interface FederatedSubject {
  /** Claim `iss`, or the ID of a SPIFFE trust domain, such as `spiffe://example.org`. */
  readonly issuer: string;
  /** Claim `sub`. */
  readonly subject: string;
  /** Further claims that must have these values, by their paths. */
  readonly claims: Readonly<Record<string, string>>;
}

/** What a registration has beside the five columns of the specification, in the columns `credentials` and `details`. */
export interface ClientDetails extends ClientFields {
  /** About the secret in the column `client_secret`, which has no id. */
  readonly clientSecret?: SecretMarks;
  readonly secrets: readonly NamedSecret[];
  readonly keys: readonly ClientKey[];
  readonly subjects: readonly FederatedSubject[];
  /** The resources that the client may name in a token request (RFC 8707). */
  readonly resources: readonly RegisteredResource[];
}

const NO_ENTRIES = { secrets: [], keys: [], subjects: [], resources: [] } as const;

export const NO_DETAILS = { ...NO_ENTRIES, ...NO_FIELDS } satisfies ClientDetails;

/** Only the kinds that are not empty. */
export function withoutEmpty<Details extends object>(details: Details): Partial<Details> {
  const says = (kind: unknown) => kind !== null && (typeof kind !== 'object' || Object.keys(kind).length > 0);
  return Object.fromEntries(Object.entries(details).filter(([, kind]) => says(kind))) as Partial<Details>;
}

/** What a problem may be about. */
export type DetailKind = keyof ClientDetails;

/** The kinds that are lists of entries. */
export const DETAIL_KINDS = ['secrets', 'keys', 'subjects', 'resources'] as const satisfies DetailKind[];

/** What each kind is called in a clients file. */
export const DETAIL_FIELDS = {
  clientSecret: 'client_secret_expires_at',
  secrets: 'secrets',
  keys: 'jwks',
  subjects: 'federated_subjects',
  resources: 'resources',
  ...eachField((name) => name),
} as const satisfies Record<DetailKind, string>;

/** The most entries of each kind. */
export const DETAILS_MAX = { secrets: 2, keys: 10, subjects: 50, resources: 20 } as const;

export function hasExpired({ expires_at = Infinity }: Expiring, now: number): boolean {
  return expires_at <= now;
}
