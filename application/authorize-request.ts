import type { AccessTokenClaims } from '../domain/access-token-claims.ts';
import { type Refusal, refusal } from '../domain/refusal.ts';
import { failure, type Result, success } from '../domain/result.ts';
import type { Scope } from '../domain/scope.ts';
import type { Clock } from './ports/clock.ts';
import type { TokenVerifier } from './ports/token-verifier.ts';

export interface BearerRequest {
  /** The token as it stood behind `Bearer`. */
  readonly token: string;
  /** The scopes that the resource asks for, all of which the token must hold. */
  readonly requiredScope?: Scope | undefined;
}

export interface Caller {
  readonly clientId: string;
  readonly tokenId: string;
}

/** May this bearer call this resource? (RFC 6750. Not RFC 6749's authorization request, in which a user consents.) */
export class AuthorizeRequest {
  readonly #verifier: TokenVerifier;
  readonly #clock: Clock;
  readonly #issuer: string;

  constructor(verifier: TokenVerifier, clock: Clock, issuer: string) {
    this.#verifier = verifier;
    this.#clock = clock;
    this.#issuer = issuer;
  }

  /** The caller, or an `invalid_token` or `insufficient_scope` refusal. Throws what the verifier throws. */
  async execute({ token, requiredScope }: BearerRequest): Promise<Result<Caller, Refusal>> {
    const verified = await this.#verifier.verify(token);
    if (!verified.ok) return failure(refusal(verified.problem));
    const claims = verified.value;
    const now = this.#clock.now();

    // RFC 7519 sections 4.1.1, 4.1.4 (refused on the second of `exp`) and 4.1.5. The clock is the issuer's own, so no leeway.
    if (claims.iss !== this.#issuer) return failure(refusal('token_issuer_foreign'));
    if (now >= claims.exp) return failure(refusal('token_expired', claims.sub));
    if (now < claims.nbf) return failure(refusal('token_not_yet_valid', claims.sub));
    if (requiredScope !== undefined && !holds(claims, requiredScope)) {
      return failure(refusal('scope_insufficient', claims.sub));
    }
    return success({ clientId: claims.sub, tokenId: claims.jti });
  }
}

function holds(claims: AccessTokenClaims, required: Scope): boolean {
  return required.toArray().every((token) => claims.scope?.includes(token) === true);
}
