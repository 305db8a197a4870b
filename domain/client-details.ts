import { type PublicJwk, readPublicJwk } from './public-jwk.ts';
import { isResourceIndicator } from './resource-indicator.ts';
import { failure, type Result, success } from './result.ts';
import { StoredSecret } from './stored-secret.ts';

/** A secret beside the one of the registration, so that a client can change its secret without a pause. */
export interface NamedSecret {
  /** The public part, which stands in front of the secret and selects it: letters, digits, `-._~`. */
  readonly secretId: string;
  /** For people. */
  readonly name: string;
  /** A BCrypt encoding; in memory also `{noop}` and the plain secret. */
  readonly encoded: string;
  /** The first second in which it is no longer valid, in seconds since the epoch. */
  readonly expiresAt?: number;
}

/** A key that verifies assertions of the client (`private_key_jwt`). */
export interface ClientKey {
  readonly jwk: PublicJwk;
  /** As above. */
  readonly expiresAt?: number;
}

/** An identity of another issuer that may act as the client (`federated_jwt`). Everything is compared exactly. */
export interface FederatedSubject {
  /** Claim `iss`, or the trust domain of a SPIFFE identity. */
  readonly issuer: string;
  /** Claim `sub`. */
  readonly subject: string;
  /** Further claims that must have these values, by their paths. */
  readonly claims: Readonly<Record<string, string>>;
}

/** What a registration has beyond the five columns of the table `clients`. */
export interface ClientDetails {
  readonly secrets: readonly NamedSecret[];
  readonly keys: readonly ClientKey[];
  readonly subjects: readonly FederatedSubject[];
  /** The resources that the client may name in a token request (RFC 8707). */
  readonly resources: readonly string[];
}

export const NO_DETAILS: ClientDetails = { secrets: [], keys: [], subjects: [], resources: [] };

/** The most entries of each kind. */
export const DETAILS_MAX = { secrets: 2, keys: 10, subjects: 50, resources: 20 } as const;

const NAME_MAX_LENGTH = 255;
const TEXT_MAX_LENGTH = 2_000;
const CLAIMS_MAX = 20;
const SECRET_ID = /^[\w.~-]{1,64}$/;

/** The entry that breaks a rule, by its kind and position, and the rule; never a value. */
export interface DetailsProblem {
  readonly kind: keyof ClientDetails;
  /** Undefined if it is about all of them. */
  readonly position: number | undefined;
  readonly rule: string;
}

/** The details, or the first rule that they break. */
export function checkDetails(details: ClientDetails): Result<ClientDetails, DetailsProblem> {
  const { secrets, keys, subjects, resources } = details;
  const problem =
    problemOf('secrets', secrets, ({ secretId }) => secretId, ruleOfSecret) ??
    problemOf('keys', keys, materialOf, ruleOfKey) ??
    problemOf('subjects', subjects, ({ issuer, subject }) => JSON.stringify([issuer, subject]), ruleOfSubject) ??
    problemOf('resources', resources, (resource) => resource, ruleOfResource);
  return problem === undefined ? success(details) : failure(problem);
}

/** The first problem of one kind. Two entries with the same identity cannot be distinguished. */
function problemOf<Entry>(
  kind: keyof ClientDetails,
  entries: readonly Entry[],
  identityOf: (entry: Entry) => string,
  ruleOf: (entry: Entry) => string | undefined,
): DetailsProblem | undefined {
  const most = DETAILS_MAX[kind];
  if (entries.length > most) return { kind, position: undefined, rule: `must be at most ${most}` };
  const seen = new Set<string>();
  for (const [position, entry] of entries.entries()) {
    const rule = ruleOf(entry) ?? (seen.has(identityOf(entry)) ? 'is repeated' : undefined);
    if (rule !== undefined) return { kind, position, rule };
    seen.add(identityOf(entry));
  }
  return undefined;
}

function materialOf({ jwk: { kid, alg, ...material } }: ClientKey): string {
  return JSON.stringify(material);
}

function ruleOfSecret({ secretId, name, encoded, expiresAt }: NamedSecret): string | undefined {
  if (!SECRET_ID.test(secretId)) return 'secret_id must be 1 to 64 letters, digits and -._~';
  if (!isText(name, NAME_MAX_LENGTH)) return `name must have 1 to ${NAME_MAX_LENGTH} characters`;
  if (StoredSecret.parse(encoded).kind === 'unusable') return 'must be a BCrypt encoding of cost 4 to 14';
  return ruleOfTime(expiresAt);
}

function ruleOfKey({ jwk, expiresAt }: ClientKey): string | undefined {
  const read = readPublicJwk(jwk);
  return read.ok ? ruleOfTime(expiresAt) : read.problem;
}

function ruleOfSubject({ issuer, subject, claims }: FederatedSubject): string | undefined {
  if (!isText(issuer, TEXT_MAX_LENGTH)) return `issuer must have 1 to ${TEXT_MAX_LENGTH} characters`;
  if (!isText(subject, TEXT_MAX_LENGTH)) return `subject must have 1 to ${TEXT_MAX_LENGTH} characters`;
  const entries = Object.entries(claims);
  if (entries.length > CLAIMS_MAX) return `claims must be at most ${CLAIMS_MAX}`;
  const areTexts = entries.every((texts) => texts.every((text) => isText(text, TEXT_MAX_LENGTH)));
  return areTexts ? undefined : `claims must be texts of 1 to ${TEXT_MAX_LENGTH} characters`;
}

function ruleOfResource(resource: string): string | undefined {
  return isResourceIndicator(resource) ? undefined : 'must be an absolute URI without a fragment (RFC 8707 section 2)';
}

function ruleOfTime(expiresAt: number | undefined): string | undefined {
  const isGood = expiresAt === undefined || (Number.isSafeInteger(expiresAt) && expiresAt >= 0);
  return isGood ? undefined : 'expires_at must be a time in whole seconds since the epoch';
}

function isText(text: string, maxLength: number): boolean {
  return text !== '' && text.length <= maxLength && !/\p{Cc}/u.test(text);
}
