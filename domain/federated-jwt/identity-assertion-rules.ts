import type { ClientAssertion } from '../client-assertion.ts';
import { readAlgorithm } from '../public-jwk.ts';
import type { Expectations, RefusalReason } from '../refusal.ts';
import type { TrustedIssuer } from './trusted-issuers.ts';

/** By how much the clock of an issuer may be ahead of ours. */
const CLOCK_SKEW_SECONDS = 30;

/** A JWT (RFC 7519 section 5.1), or what a JWT-SVID may be (JWT-SVID section 2.3); not an access token. */
const TYPES = ['jwt', 'jose'];

interface IdentityAssertionLimits {
  /** Now, in seconds since the epoch. */
  readonly now: number;
  /** The greatest age by `iat`; without `iat`, the longest remaining life by `exp`. */
  readonly maxAgeSeconds: number;
}

/** What the descriptions of these refusals name. */
export function identityExpectations({ audience, algorithms }: TrustedIssuer, maxAgeSeconds: number): Expectations {
  return {
    assertion_algorithm_refused: algorithms.join(', '),
    assertion_audience_wrong: audience,
    assertion_lifetime_too_long: String(maxAgeSeconds),
    assertion_too_old: String(maxAgeSeconds),
  };
}

/**
 * Why an assertion of this issuer is refused, apart from its signature and its subject; undefined if it is not.
 * Platforms issue one token for many requests, so it may be presented again until it is too old (RFC 7523 section 3
 * allows both). More than one audience is refused: each of them could present the token here.
 */
export function refusalOfIdentity(
  { header, claims }: ClientAssertion,
  { audience, algorithms }: TrustedIssuer,
  { now, maxAgeSeconds }: IdentityAssertionLimits,
): RefusalReason | undefined {
  if (header.typ !== undefined && !TYPES.includes(header.typ.toLowerCase())) return 'assertion_type_refused';
  const algorithm = readAlgorithm(header.alg);
  if (algorithm === undefined || !algorithms.includes(algorithm)) return 'assertion_algorithm_refused';
  if (claims.aud.length !== 1 || claims.aud[0] !== audience) return 'assertion_audience_wrong';
  if (claims.exp <= now) return 'assertion_expired';
  const validFrom = Math.max(claims.nbf ?? -Infinity, claims.iat ?? -Infinity);
  if (validFrom > now + CLOCK_SKEW_SECONDS) return 'assertion_not_yet_valid';
  if (claims.iat === undefined) return claims.exp - now > maxAgeSeconds ? 'assertion_lifetime_too_long' : undefined;
  return now - claims.iat > maxAgeSeconds ? 'assertion_too_old' : undefined;
}
