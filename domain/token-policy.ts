import type { AccessTokenClaims, TokenType } from './access-token-claims.ts';
import { NO_CLAIMS } from './client-claims.ts';
import type { ClientRegistration } from './client-registration.ts';
import { type Refusal, refused } from './refusal.ts';
import { type RegisteredResource, selectResources, uriOf } from './resource-indicator.ts';
import { type Result, success } from './result.ts';
import { Scope } from './scope.ts';

/** Header field `typ` of each form of tokens. The most used verifiers refuse `at+jwt` by default. */
const TYPES = { default: undefined, rfc9068: 'at+jwt', common: 'JWT' } as const satisfies Record<
  string,
  TokenType | undefined
>;

type TokenProfile = keyof typeof TYPES;

export const TOKEN_PROFILES = Object.keys(TYPES) as readonly TokenProfile[];

/** What a deployment decides about its tokens. */
export interface TokenPolicyOptions {
  /** Claim `iss`, exactly as tokens contain it. */
  readonly issuer: string;
  /**
   * `exp - iat` of a client without its own shorter one, a whole number of seconds from LIFETIME_SECONDS_MIN to
   * LIFETIME_SECONDS_MAX, as the settings check.
   */
  readonly lifetimeSeconds: number;
  /**
   * `rfc9068`: header `typ` is `at+jwt`, with the claims that strict verifiers require. `common`: the same claims, and
   * `typ` is `JWT`.
   */
  readonly profile?: TokenProfile;
  /** Claim `aud` of a token whose request names no resource; if undefined, the client's own id. */
  readonly audience?: string | undefined;
  /** Whether a request may name `audience` as its resource, whatever is registered. */
  readonly namesAudience?: boolean;
  /** Whether a token of the default profile has its scopes: not at all, or as an array of strings. */
  readonly scopeClaim: 'absent' | 'array';
}

/** What a request gets. */
export interface Granted {
  readonly scope: Scope;
  /** None if the request named none. */
  readonly resources: readonly string[];
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

  /** Header field `typ`, or undefined if tokens have none. */
  get type(): TokenType | undefined {
    return TYPES[this.#options.profile ?? 'default'];
  }

  /**
   * What a request gets: the requested scopes, or all if none are requested, of those that the named resources have, or
   * else of the registered ones (RFC 6749 section 3.3); and the resources in their registered spelling (RFC 8707
   * section 2). Never one beyond them.
   */
  grant(
    { clientId, scope: registered, resources }: ClientRegistration,
    scope: Scope | undefined,
    requested: readonly string[],
  ): Result<Granted, Refusal> {
    const { audience, namesAudience } = this.#options;
    const known = namesAudience && audience !== undefined ? [...resources, audience] : resources;
    const selected = selectResources(known, requested);
    const bounds = boundsOf(selected ?? []);
    const [ofResource] = bounds;
    const beyond = scope?.firstBeyond(ofResource ?? registered);
    if (beyond !== undefined) {
      return refused(ofResource === undefined ? 'scope_not_registered' : 'scope_not_of_resource', clientId, beyond);
    }
    if (selected === undefined) {
      const unknown = requested.find((resource) => selectResources(known, [resource]) === undefined) ?? '';
      return refused('resource_not_registered', clientId, unknown);
    }
    if (bounds.length > 1) return refused('resources_differ', clientId);
    return success({ scope: scope ?? ofResource ?? registered, resources: selected.map(uriOf) });
  }

  claimsOf({ registration, scope, resources = [], issuedAt, tokenId }: TokenFacts): AccessTokenClaims {
    const { issuer, audience = registration.clientId } = this.#options;
    const lifetimeSeconds = Math.min(this.#options.lifetimeSeconds, registration.tokenLifetimeSeconds);
    const [resource = audience, ...others] = resources;
    const own = {
      iss: issuer,
      sub: registration.clientId,
      aud: others.length === 0 ? resource : resources,
      iat: issuedAt,
      nbf: issuedAt,
      exp: issuedAt + lifetimeSeconds,
      jti: tokenId,
      ...this.#profileClaims(registration, scope),
    };
    const { claims } = registration;
    // Behind the service's own claims, of which they cannot replace one.
    return claims === NO_CLAIMS ? own : { ...own, ...claims, ...own };
  }

  /** RFC 9068 section 2.2: `client_id`, and `scope` as RFC 8693 section 4.2 has it. */
  #profileClaims(registration: ClientRegistration, scope: Scope): Pick<AccessTokenClaims, 'client_id' | 'scope'> {
    if (this.type !== undefined) return { client_id: registration.clientId, scope: scope.toString() };
    return this.#options.scopeClaim === 'array' ? { scope: scope.toArray() } : {};
  }
}

/** The sets of scopes that tokens for these resources are bound to; undefined: those of the registration. */
function boundsOf(resources: readonly RegisteredResource[]): readonly (Scope | undefined)[] {
  const bounds = new Map<string | undefined, Scope | undefined>();
  for (const resource of resources) {
    const scope = typeof resource === 'string' ? undefined : Scope.parse(resource.scope);
    const bound = scope?.ok ? scope.value : undefined;
    const key = bound?.toArray().toSorted().join(' ');
    if (!bounds.has(key)) bounds.set(key, bound);
  }
  return [...bounds.values()];
}
