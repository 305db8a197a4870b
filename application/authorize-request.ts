import { type AccessTokenClaims, isFor, scopesOf } from '../domain/access-token-claims.ts';
import { type Refusal, refused } from '../domain/refusal.ts';
import { type Result, success } from '../domain/result.ts';
import type { Scope } from '../domain/scope.ts';
import { defectOf, isRevoked } from '../domain/token-activity.ts';
import type { Clock } from './ports/clock.ts';
import type { VerificationKeys } from './ports/key-provider.ts';
import type { Revocations } from './ports/revocations.ts';
import { verifyToken } from './verify-token.ts';

export interface BearerRequest {
  /** The token after `Bearer`, unchanged. */
  readonly token: string;
  /** The scopes that the resource requires; the token must have all of them. */
  readonly requiredScope?: Scope | undefined;
}

/** The audience of a token that is not restricted to any resource: its own client. */
export const OWN_CLIENT = Symbol('the client of the token');

/** The tokens to accept. */
export interface ExpectedToken {
  /** Claim `iss`, compared exactly. */
  readonly issuer: string;
  /** What claim `aud` has to name: this audience, or the client itself. If undefined, `aud` is not checked. */
  readonly audience?: string | typeof OWN_CLIENT | undefined;
  /** Whether `aud` may name nothing else: nobody else has received such a token. */
  readonly isOnlyAudience?: boolean;
  /** Seconds by which the issuer's clock and ours may differ; 0 if they are the same clock. */
  readonly leewaySeconds?: number;
}

/** The client and the token. */
export interface Bearer {
  readonly clientId: string;
  readonly tokenId: string;
  readonly scopes: readonly string[];
}

/**
 * Decides whether a bearer may call a resource (RFC 6750). Not RFC 6749's authorization request, which asks a user for
 * consent.
 */
export class AuthorizeRequest {
  readonly #keys: VerificationKeys;
  readonly #clock: Clock;
  readonly #expected: ExpectedToken;
  readonly #revocations: Pick<Revocations, 'find'> | undefined;

  /** @param revocations by default, tokens cannot be revoked. */
  constructor(keys: VerificationKeys, clock: Clock, expected: ExpectedToken, revocations?: Pick<Revocations, 'find'>) {
    this.#keys = keys;
    this.#clock = clock;
    this.#expected = expected;
    this.#revocations = revocations;
  }

  /** The bearer, or `invalid_token` or `insufficient_scope`. Throws what the keys and the revocations throw. */
  async execute({ token, requiredScope }: BearerRequest): Promise<Result<Bearer, Refusal>> {
    const verified = await verifyToken(token, this.#keys);
    if (!verified.ok) return refused(verified.problem);
    const claims = verified.value;
    const { issuer, audience, isOnlyAudience = false, leewaySeconds = 0 } = this.#expected;

    const defect = defectOf(claims, { issuer, now: this.#clock.now(), leewaySeconds });
    if (defect !== undefined) return refused(defect, claims.iss === issuer ? claims.sub : undefined);
    const isForUs = audience === undefined || isFor(claims, audience === OWN_CLIENT ? claims.sub : audience);
    if (!isForUs || (isOnlyAudience && claims.aud !== audience)) return refused('token_audience_foreign', claims.sub);
    if (requiredScope !== undefined && !holds(claims, requiredScope)) {
      return refused('scope_insufficient', claims.sub);
    }
    const { sub: clientId, jti: tokenId } = claims;
    const revocation = await this.#revocations?.find({ clientId, tokenId });
    if (revocation !== undefined && isRevoked(claims, revocation)) return refused('token_revoked', clientId);
    return success({ clientId, tokenId, scopes: scopesOf(claims) });
  }
}

function holds(claims: AccessTokenClaims, required: Scope): boolean {
  const held = scopesOf(claims);
  return required.toArray().every((token) => held.includes(token));
}
