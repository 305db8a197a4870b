import { isClaimPath } from './claim-path.ts';
import {
  type ClientDetails,
  type ClientKey,
  DETAILS_MAX,
  type FederatedSubject,
  type NamedSecret,
} from './client-details.ts';
import { CLIENT_FIELD_NAMES, CLIENT_FIELDS, type ClientFields } from './client-fields.ts';
import { CREDENTIALS_BYTES_MAX, excessOf } from './details-document.ts';
import { readPublicJwk, thumbprintInput } from './public-jwk.ts';
import { isResourceIndicator, type RegisteredResource, uriOf } from './resource-indicator.ts';
import { failure, type Result, success } from './result.ts';
import { Scope } from './scope.ts';
import { isSecretId, StoredSecret, secretIdOf } from './stored-secret.ts';
import { hasUnprintable, NO_UNPRINTABLE } from './unprintable.ts';

const NAME_MAX_LENGTH = 255;
const TEXT_MAX_LENGTH = 2_000;
const CLAIMS_MAX = 20;

/** The entry that breaks a rule, by its field and position, and the rule; never a value. */
export interface DetailsProblem {
  readonly kind: keyof ClientDetails;
  /** Undefined if it is about the whole field. */
  readonly position: number | undefined;
  readonly rule: string;
}

/** A problem in words, such as `resources entry 0 is repeated`. */
export function describeDetailsProblem({ kind, position, rule }: DetailsProblem): string {
  return `${kind}${position === undefined ? '' : ` entry ${position}`} ${rule}`;
}

/** The details, or the first rule that they break. */
export function checkDetails(details: ClientDetails): Result<ClientDetails, DetailsProblem> {
  const { client_secret_expires_at: end, secrets, jwks, federated_subjects, resources } = details;
  const problem =
    problemOfValue('client_secret_expires_at', ruleOfTime(end)) ??
    problemOf('secrets', secrets, ({ secret_id }) => secret_id, ruleOfSecret) ??
    problemOf('jwks', jwks.keys, thumbprintInput, ruleOfKey) ??
    repeatedKid(jwks.keys) ??
    problemOf(
      'federated_subjects',
      federated_subjects,
      ({ issuer, subject }) => JSON.stringify([issuer, subject]),
      ruleOfSubject,
    ) ??
    problemOf('resources', resources, uriOf, ruleOfResource) ??
    problemOfFields(details) ??
    problemOfSize(details);
  return problem === undefined ? success(details) : failure(problem);
}

function problemOfValue(kind: DetailsProblem['kind'], rule: string | undefined): DetailsProblem | undefined {
  return rule === undefined ? undefined : { kind, position: undefined, rule };
}

/** Each request of a stranger reads them. */
function problemOfSize(details: ClientDetails): DetailsProblem | undefined {
  const { field: kind, bytes } = excessOf(details) ?? {};
  if (bytes === undefined || kind === undefined) return undefined;
  const rule = `must be shorter: all that authenticates the client has ${bytes} bytes, and may have ${CREDENTIALS_BYTES_MAX}`;
  return { kind, position: undefined, rule };
}

function problemOfFields(fields: ClientFields): DetailsProblem | undefined {
  return CLIENT_FIELD_NAMES.map((name) => problemOfValue(name, CLIENT_FIELDS[name].ruleOf(fields[name]))).find(Boolean);
}

/** The first problem of one list. Two entries with the same identity cannot be distinguished. */
function problemOf<Entry>(
  kind: keyof typeof DETAILS_MAX,
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

/** An assertion names its key by `kid`, and only one key of that name is tried. */
function repeatedKid(keys: readonly ClientKey[]): DetailsProblem | undefined {
  const kids = keys.map(({ kid }) => kid);
  const position = kids.findIndex((kid, index) => kid !== undefined && kids.indexOf(kid) < index);
  return position < 0 ? undefined : { kind: 'jwks', position, rule: 'has the kid of another one' };
}

function ruleOfSecret({ secret_id, name, client_secret: encoded, expires_at }: NamedSecret): string | undefined {
  if (!isSecretId(secret_id)) return 'secret_id must be 1 to 32 letters, digits and -_~';
  if (!isText(name, NAME_MAX_LENGTH)) return `name must have 1 to ${NAME_MAX_LENGTH} characters`;
  const secret = StoredSecret.parse(encoded);
  if (secret.kind === 'unusable') return 'client_secret must be a BCrypt encoding of cost 4 to 14';
  if (secret.kind === 'plain' && secretIdOf(secret.reveal()) !== secret_id)
    return 'client_secret must begin with its secret_id and a dot';
  if (hasUnprintable(encoded)) return `client_secret ${NO_UNPRINTABLE}`;
  return ruleOfEnd(expires_at);
}

function ruleOfKey({ expires_at, ...jwk }: ClientKey): string | undefined {
  const read = readPublicJwk(jwk);
  return read.ok ? ruleOfEnd(expires_at) : read.problem;
}

function ruleOfSubject({ issuer, subject, claims }: FederatedSubject): string | undefined {
  if (!isText(issuer, TEXT_MAX_LENGTH)) return `issuer must have 1 to ${TEXT_MAX_LENGTH} characters`;
  if (!isText(subject, TEXT_MAX_LENGTH)) return `subject must have 1 to ${TEXT_MAX_LENGTH} characters`;
  if ([issuer, subject].some((text) => /^[\p{Cf}\p{Z}]|[\p{Cf}\p{Z}]$/u.test(text)))
    return 'issuer and subject must not begin or end with a space or an invisible character';
  const entries = Object.entries(claims);
  if (entries.length > CLAIMS_MAX) return `claims must be at most ${CLAIMS_MAX}`;
  const areTexts = entries.every((texts) => texts.every((text) => isText(text, TEXT_MAX_LENGTH)));
  if (!areTexts) return `claims must be texts of 1 to ${TEXT_MAX_LENGTH} characters`;
  return Object.keys(claims).every(isClaimPath)
    ? undefined
    : 'claims must be named by JSON pointers such as /repository_id (RFC 6901)';
}

function ruleOfResource(resource: RegisteredResource): string | undefined {
  if (!isResourceIndicator(uriOf(resource))) return 'must be an absolute URI without a fragment (RFC 8707 section 2)';
  if (typeof resource !== 'string' && resource.scope.length > TEXT_MAX_LENGTH)
    return `scope must have at most ${TEXT_MAX_LENGTH} characters`;
  const isScoped = typeof resource === 'string' || Scope.parse(resource.scope).ok;
  return isScoped ? undefined : 'scope must be scope tokens with single spaces between (RFC 6749 section 3.3)';
}

/** 9999-12-31T23:59:59Z. A time in milliseconds is later. */
const TIME_MAX = 253_402_300_799;

function ruleOfEnd(time: number | undefined): string | undefined {
  const rule = ruleOfTime(time);
  return rule && `expires_at ${rule}`;
}

function ruleOfTime(time = 0): string | undefined {
  if (!Number.isSafeInteger(time) || time < 0) return 'must be a time in whole seconds since the epoch';
  return time > TIME_MAX ? 'must be before the year 10000, in seconds, not milliseconds' : undefined;
}

function isText(text: string, maxLength: number): boolean {
  return text !== '' && text.length <= maxLength && text.isWellFormed() && !/\p{Cc}/u.test(text);
}
