import type { AccessTokenClaims, TokenType } from './access-token-claims.ts';
import type { ClientRegistration } from './client-registration.ts';
import { type Refusal, refused } from './refusal.ts';
import { selectResources } from './resource-indicator.ts';
import { type Result, success } from './result.ts';
import type { Scope } from './scope.ts';

export const LIFETIME_SECONDS_MIN = 1;
export const LIFETIME_SECONDS_MAX = 86_400;

/** What a deployment decides about its tokens. */
export interface TokenPolicyOptions {
  /** Claim `iss`, exactly as tokens contain it. */
  readonly issuer: string;
  /** `exp - iat`, a whole number of seconds from LIFETIME_SECONDS_MIN to LIFETIME_SECONDS_MAX, as the settings check. */
  readonly lifetimeSeconds: number;
  /** `rfc9068`: header `typ` is `at+jwt`, with the claims that strict verifiers require. */
  readonly profile?: 'default' | 'rfc9068';
  /** Claim `aud` of a token whose request names no resource; if undefined, the client's own id. */
  readonly audience?: string | undefined;
  /** Whether a token of the default profile has its scopes: not at all, or as an array of strings. */
  readonly scopeClaim: 'absent' | 'array';
}

/** The values that differ from token to token. */
interface TokenFacts {
  readonly registration: ClientRegistration;
  readonly scope: Scope;
  /** The resources that the token is for (RFC 8707); none if the request named none. */
  readonly resources?: readonly string[];
  /** Whole seconds since the epoch. */
  readonly issuedAt: number;
  readonly tokenId: string;
}

/** Decides which scopes and claims a token gets. */
export class TokenPolicy {
  readonly #options: TokenPolicyOptions;

  constructor(options: TokenPolicyOptions) {
    this.#options = options;
  }

  /** Header member `typ` (RFC 9068 section 2.1), or undefined if tokens have none. */
  get type(): TokenType | undefined {
    return this.#options.profile === 'rfc9068' ? 'at+jwt' : undefined;
  }

  /** The scopes that a request gets: the requested ones, or all registered ones if none are requested. Never an unregistered scope (RFC 6749 section 3.3). */
  grantScope(registration: ClientRegistration, requested: Scope | undefined): Result<Scope, Refusal> {
    if (requested === undefined) return success(registration.scope);
    const beyond = requested.firstBeyond(registration.scope);
    return beyond === undefined ? success(requested) : refused('scope_not_registered', registration.clientId, beyond);
  }

  /** The resources that a request gets, in their registered spelling (RFC 8707 section 2). Never an unregistered one. */
  grantResources(
    { clientId, resources: registered }: ClientRegistration,
    requested: readonly string[],
  ): Result<readonly string[], Refusal> {
    const granted = selectResources(registered, requested);
    if (granted !== undefined) return success(granted);
    const beyond = requested.find((resource) => selectResources(registered, [resource]) === undefined) ?? '';
    return refused('resource_not_registered', clientId, beyond);
  }

  claimsOf({ registration, scope, resources = [], issuedAt, tokenId }: TokenFacts): AccessTokenClaims {
    const { issuer, lifetimeSeconds, audience = registration.clientId } = this.#options;
    const [resource = audience, ...others] = resources;
    return {
      iss: issuer,
      sub: registration.clientId,
      aud: others.length === 0 ? resource : resources,
      iat: issuedAt,
      nbf: issuedAt,
      exp: issuedAt + lifetimeSeconds,
      jti: tokenId,
      ...this.#profileClaims(registration, scope),
    };
  }

  /** RFC 9068 section 2.2: `client_id`, and `scope` as RFC 8693 section 4.2 has it. */
  #profileClaims(registration: ClientRegistration, scope: Scope): Pick<AccessTokenClaims, 'client_id' | 'scope'> {
    const { profile, scopeClaim } = this.#options;
    if (profile === 'rfc9068') return { client_id: registration.clientId, scope: scope.toString() };
    return scopeClaim === 'array' ? { scope: scope.toArray() } : {};
  }
}
