import type { ClientAssertion } from '../client-assertion.ts';
import { isClientId } from '../client-registration.ts';
import { ALGORITHM_NAMES, readAlgorithm } from '../public-jwk.ts';
import type { Expectations, RefusalReason } from '../refusal.ts';

/** By how much the clock of a client may differ from ours, in seconds. */
export const CLIENT_SKEW_SECONDS = 30;

const ASSERTION_ID_MAX_LENGTH = 255;

/** A JWT, or explicitly one that authenticates a client (draft-ietf-oauth-rfc7523bis section 4), which is no grant. */
const TYPES = { client: ['jwt', 'client-authentication+jwt'], grant: ['jwt'] };

/** What an assertion has to be. */
export interface KeyAssertionPolicy {
  /**
   * Whether it authenticates a client (RFC 7523 section 2.2), or is the grant itself (section 2.1). A grant needs no
   * `jti` (section 3), and may be used again without one.
   */
  readonly use: keyof typeof TYPES;
  /** An assertion must have exactly one of these: our issuer, which is the audience of no other server. */
  readonly audiences: readonly string[];
  /** The furthest that `exp` may be ahead, in seconds. */
  readonly maxLifetimeSeconds: number;
}

interface KeyAssertionLimits extends KeyAssertionPolicy {
  /** Now, in seconds since the epoch. */
  readonly now: number;
  /** The `client_id` parameter. */
  readonly clientId?: string | undefined;
}

/**
 * Why an assertion that a client signed itself is refused, apart from its signature; undefined if it is not. RFC 7523
 * section 3, as draft-ietf-oauth-rfc7523bis narrows it: with another audience, a malicious server could have a client
 * sign an assertion that it presents here (CVE-2025-27370).
 */
export function refusalOfKeyAssertion(
  { header, claims }: ClientAssertion,
  { now, use, audiences, maxLifetimeSeconds, clientId }: KeyAssertionLimits,
): RefusalReason | undefined {
  const { iss, sub, aud, exp, iat = 0, nbf = 0, jti } = claims;
  if (readAlgorithm(header.alg) === undefined) return 'assertion_algorithm_refused';
  if (!TYPES[use].includes(mediaTypeOf(header.typ ?? 'JWT'))) return 'assertion_type_refused';
  if (iss !== sub) return 'assertion_issuer_untrusted';
  const isIdentified = jti === undefined ? use === 'grant' : jti.length <= ASSERTION_ID_MAX_LENGTH;
  if (!isClientId(sub) || !isIdentified) return 'assertion_malformed';
  if (clientId !== undefined && clientId !== sub) return 'assertion_client_contradictory';
  const isAudience = (one: string) => audiences.some((other) => withoutSlash(one) === withoutSlash(other));
  if (aud.length !== 1 || !aud.every(isAudience)) return 'assertion_audience_wrong';
  if (exp + CLIENT_SKEW_SECONDS <= now) return 'assertion_expired';
  if (exp > now + maxLifetimeSeconds + CLIENT_SKEW_SECONDS) return 'assertion_lifetime_too_long';
  return Math.max(iat, nbf) > now + CLIENT_SKEW_SECONDS ? 'assertion_not_yet_valid' : undefined;
}

/** What the descriptions of these refusals name. */
export function keyAssertionExpectations(
  { audiences, maxLifetimeSeconds }: KeyAssertionPolicy,
  { claims: { sub, jti } }: ClientAssertion,
): Expectations {
  const faultOfId = jti === undefined ? 'jti is missing' : `jti is longer than ${ASSERTION_ID_MAX_LENGTH} characters`;
  return {
    assertion_malformed: isClientId(sub) ? faultOfId : 'sub is no client_id, which has 1 to 255 characters',
    assertion_algorithm_refused: ALGORITHM_NAMES.join(', '),
    assertion_issuer_untrusted: 'the client_id, as sub is, or for federated_jwt an issuer that this server trusts',
    assertion_audience_wrong: audiences.join(' or '),
    assertion_lifetime_too_long: String(maxLifetimeSeconds),
  };
}

/** Compared without regard to case, and `application/` may be left out (RFC 7515 section 4.1.9). */
function mediaTypeOf(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '');
}

/** The text without one trailing slash: libraries disagree about it. */
function withoutSlash(url: string): string {
  return url.endsWith('/') ? url.slice(0, -1) : url;
}
