import { type AccessTokenClaims, scopesOf } from '../domain/access-token-claims.ts';
import type { ClientRegistration } from '../domain/client-registration.ts';
import { type Refusal, refused } from '../domain/refusal.ts';
import { type Result, success } from '../domain/result.ts';
import { defectOf, type Introspector, isActive, isRevoked, mayKnow } from '../domain/token-activity.ts';
import type { AuthorizeRequest } from './authorize-request.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { Caller, RequestOrigin } from './ports/caller.ts';
import type { CallerBudget } from './ports/caller-budget.ts';
import type { ClientAuthentication, ClientCredentials } from './ports/client-credentials.ts';
import type { ClientRepository } from './ports/client-repository.ts';
import type { Clock } from './ports/clock.ts';
import type { VerificationKeys } from './ports/key-provider.ts';
import type { Revocations } from './ports/revocations.ts';
import { refusalEvent } from './refusal-event.ts';
import { verifyToken } from './verify-token.ts';

export interface IntrospectionRequest {
  readonly token: string;
  /** With which the caller authenticates: those of a client, or an access token. */
  readonly by: { readonly credentials: ClientCredentials } | { readonly bearerToken: string };
  readonly caller: Caller & RequestOrigin;
}

/** What a client may know, and who it is. */
export interface Introspection {
  readonly clientId: string;
  /** Undefined: the token is not active, or this client may not know about it. */
  readonly claims: AccessTokenClaims | undefined;
  /** Space-delimited; undefined if the token has none. */
  readonly scope: string | undefined;
}

interface IntrospectTokenParts {
  readonly authenticateClient: ClientAuthentication<ClientCredentials>;
  readonly authorizeRequest: AuthorizeRequest;
  readonly clients: Pick<ClientRepository, 'findByClientId'>;
  readonly keys: VerificationKeys;
  readonly clock: Clock;
  readonly budget: CallerBudget;
  readonly revocations: Pick<Revocations, 'find'>;
  readonly auditLog: AuditLog;
  readonly issuer: string;
  readonly leewaySeconds: number;
  /** With which a client may ask about every token. */
  readonly scopeForAll: string;
}

/** Tells a resource server whether a token is active (RFC 7662). */
export class IntrospectToken {
  readonly #parts: IntrospectTokenParts;

  constructor(parts: IntrospectTokenParts) {
    this.#parts = parts;
  }

  /**
   * What the client may know, or a refusal, once it is recorded: `invalid_client`, `invalid_token` or `slow_down`. A
   * token that is malformed, forged, expired or revoked, that this client may not know about, or whose client was
   * disabled or removed, is not active: nothing tells these cases apart. Throws what the ports throw.
   *
   * Costs the authentication of the client, one verification of a signature, and two look-ups at once: none for a token
   * that is forged or expired.
   */
  async execute(request: IntrospectionRequest): Promise<Result<Introspection, Refusal>> {
    const { auditLog, clock, budget, scopeForAll, keys, issuer, leewaySeconds } = this.#parts;
    const by = await this.#authenticate(request);
    if (!by.ok) {
      await auditLog.record(refusalEvent('introspection_refused', by.problem, request.caller, clock.now()));
      return by;
    }
    const { clientId } = by.value;
    if (!budget.take(clientId)) return refused('introspections_exhausted', clientId);
    const nothing = success({ clientId, claims: undefined, scope: undefined });
    const verified = await verifyToken(request.token, keys);
    if (!verified.ok) return nothing;
    const claims = verified.value;
    const defect = defectOf(claims, { issuer, now: clock.now(), leewaySeconds });
    if (defect !== undefined || !mayKnow(claims, by.value, scopeForAll)) return nothing;
    if (!(await this.#isActive(claims))) return nothing;
    const scope = scopesOf(claims).join(' ');
    return success({ clientId, claims, scope: scope === '' ? undefined : scope });
  }

  async #authenticate({ by, caller }: IntrospectionRequest): Promise<Result<Introspector, Refusal>> {
    const { authenticateClient, authorizeRequest } = this.#parts;
    if ('credentials' in by) {
      const client = await authenticateClient.execute(by.credentials, caller);
      return client.ok ? success(introspectorOf(client.value, client.value.scope.toArray())) : client;
    }
    const bearer = await authorizeRequest.execute({ token: by.bearerToken });
    if (!bearer.ok) return bearer;
    const { clientId, scopes } = bearer.value;
    const registration = await this.#registrationOf(clientId);
    if (!isActive(registration)) return refused('token_client_inactive', clientId);
    return success(introspectorOf(registration, scopes));
  }

  /** The one place that decides whether a token is active whose signature and time are right. */
  async #isActive(claims: AccessTokenClaims): Promise<boolean> {
    const { sub: clientId, jti: tokenId } = claims;
    const [registration, revocation] = await Promise.all([
      this.#registrationOf(clientId),
      this.#parts.revocations.find({ clientId, tokenId }),
    ]);
    return isActive(registration) && !isRevoked(claims, revocation);
  }

  /** As it is stored now; undefined if it is not registered, or its row is broken. */
  async #registrationOf(clientId: string): Promise<ClientRegistration | undefined> {
    const lookup = await this.#parts.clients.findByClientId(clientId);
    return lookup.kind === 'found' ? lookup.registration : undefined;
  }
}

function introspectorOf({ clientId, audiences }: ClientRegistration, scopes: readonly string[]): Introspector {
  return { clientId, audiences, scopes };
}
