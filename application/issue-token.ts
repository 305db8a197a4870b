import { type AccessTokenClaims, TOKEN_LENGTH_MAX } from '../domain/access-token-claims.ts';
import { ClientAssertion } from '../domain/client-assertion.ts';
import type { ClientRegistration } from '../domain/client-registration.ts';
import type { GrantType } from '../domain/grant-type.ts';
import { type Refusal, refused, refusedGrant } from '../domain/refusal.ts';
import { isResourceIndicator } from '../domain/resource-indicator.ts';
import { type Result, success } from '../domain/result.ts';
import { Scope } from '../domain/scope.ts';
import type { TokenPolicy } from '../domain/token-policy.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { Caller, RequestOrigin } from './ports/caller.ts';
import type { AssertionCredentials, ClientAuthentication, ClientCredentials } from './ports/client-credentials.ts';
import type { Clock } from './ports/clock.ts';
import type { IdGenerator } from './ports/id-generator.ts';
import { refusalEvent } from './refusal-event.ts';
import type { TokenSigner } from './token-signer.ts';

export interface TokenRequest {
  readonly credentials: ClientCredentials;
  /** `credentials` are the grant itself then (RFC 7523 section 2.1). */
  readonly grant: GrantType;
  /** With which the client authenticates beside a grant, if it does. */
  readonly beside?: ClientCredentials | undefined;
  /** The `scope` parameter as it was sent; undefined if it was absent or empty. */
  readonly scope?: string | undefined;
  /** The `resource` parameters as they were sent (RFC 8707). */
  readonly resources: readonly string[];
  readonly caller: Caller & RequestOrigin;
}

export interface IssuedToken {
  /** The compact JWS. A secret, only for the response. */
  readonly accessToken: string;
  readonly claims: AccessTokenClaims;
  /** The granted scopes, space-delimited. */
  readonly scope: string;
  /** Whether the client asked for scopes, by the parameter or by the claim of a grant. */
  readonly isScopeRequested: boolean;
  readonly expiresInSeconds: number;
}

interface IssueTokenParts {
  readonly authenticateClient: ClientAuthentication<ClientCredentials>;
  /** Of the grant `jwt-bearer`; undefined if it is switched off. */
  readonly authenticateGrant?: ClientAuthentication<AssertionCredentials> | undefined;
  readonly policy: TokenPolicy;
  readonly signer: Pick<TokenSigner, 'sign'>;
  readonly clock: Clock;
  /** Whether all tokens of a client can be revoked until a time. Then `iat` is before the look-up of the client. */
  readonly isRevocable?: boolean;
  readonly ids: IdGenerator;
  readonly auditLog: AuditLog;
}

/** Issues a token for a client's credentials (RFC 6749 section 4.4), or for an assertion (RFC 7523 section 2.1). */
export class IssueToken {
  readonly #parts: IssueTokenParts;

  constructor(parts: IssueTokenParts) {
    this.#parts = parts;
  }

  /** A token, or a refusal, once it is recorded. Throws what the ports throw. */
  async execute(request: TokenRequest): Promise<Result<IssuedToken, Refusal>> {
    const outcome = await this.#issue(request);
    await this.#record(outcome, request);
    return outcome;
  }

  async #issue(request: TokenRequest): Promise<Result<IssuedToken, Refusal>> {
    const { policy, signer, clock, isRevocable = false, ids } = this.#parts;
    const { grant, resources } = request;
    const begin = clock.now();
    const scope = request.scope ?? scopeClaimOf(request);

    // What is malformed is refused before it costs a hash; what is not registered, only after the client is
    // authenticated.
    const requested = scope === undefined ? undefined : Scope.parse(scope);
    if (requested?.ok === false) {
      const malformed = scope?.split(' ').find((token) => !Scope.parse(token).ok) || scope;
      return refused('scope_malformed', undefined, malformed);
    }
    const malformed = resources.find((resource) => !isResourceIndicator(resource));
    if (malformed !== undefined) return refused('resource_malformed', undefined, malformed);

    const client = await this.#authenticate(request);
    if (!client.ok) return client;
    if (!client.value.mayUse(grant)) return refused(NOT_USABLE[grant], client.value.clientId);

    const granted = policy.grant(client.value, requested?.value, resources);
    if (!granted.ok) return granted;

    const [registration, now] = [client.value, clock.now()];
    // If the look-up came before a revocation, so does this time.
    const issuedAt = isRevocable ? begin : now;
    const claims = policy.claimsOf({ registration, ...granted.value, issuedAt, tokenId: ids.uuid() });
    const accessToken = await signer.sign(claims);
    if (accessToken.length > TOKEN_LENGTH_MAX) {
      return refused(resources.length === 0 ? 'scope_too_long' : 'resources_too_long', registration.clientId);
    }
    return success({
      accessToken,
      claims,
      scope: granted.value.scope.toString(),
      isScopeRequested: requested !== undefined,
      expiresInSeconds: claims.exp - now,
    });
  }

  async #authenticate(request: TokenRequest): Promise<Result<ClientRegistration, Refusal>> {
    const { authenticateClient, authenticateGrant } = this.#parts;
    const { credentials, grant, beside, caller } = request;
    if (grant === 'client_credentials') return authenticateClient.execute(credentials, caller);
    if (authenticateGrant === undefined || !('assertion' in credentials)) throw new Error('the grant is switched off');
    const other = beside && (await authenticateClient.execute(beside, caller));
    if (other?.ok === false) return other;
    const client = await authenticateGrant.execute(credentials, caller);
    if (!client.ok) return refusedGrant(client);
    const isSame = other === undefined || other.value.clientId === client.value.clientId;
    return isSame ? client : refused('grant_refused', client.value.clientId);
  }

  #record(outcome: Result<IssuedToken, Refusal>, request: TokenRequest): Promise<void> {
    const { auditLog, clock } = this.#parts;
    if (!outcome.ok) {
      return auditLog.record(refusalEvent('token_refused', outcome.problem, request.caller, clock.now()));
    }
    const { claims, scope } = outcome.value;
    const { iat, sub, jti, exp } = claims;
    return auditLog.record({
      event: 'token_issued',
      at: iat,
      client_id: sub,
      token_id: jti,
      scope,
      expires_at: exp,
      ...(request.grant !== 'client_credentials' && { grant: request.grant }),
      request_id: request.caller.requestId,
      remote_address: request.caller.remoteAddress,
    });
  }
}

/** The refusal of a client that may not use a grant: that of a wrong assertion where an assertion is the grant. */
const NOT_USABLE = { client_credentials: 'grant_not_registered', 'jwt-bearer': 'grant_refused' } as const;

/** Some clients ask for scopes in an assertion that they sign. What a platform has signed asks for nothing. */
function scopeClaimOf({ grant, credentials }: TokenRequest): string | undefined {
  if (grant !== 'jwt-bearer' || !('assertion' in credentials)) return undefined;
  const assertion = ClientAssertion.parse(credentials.assertion);
  const { iss, sub, scope = '' } = assertion.ok ? assertion.value.claims : NO_CLAIMS;
  return iss === sub && scope !== '' ? scope : undefined;
}

const NO_CLAIMS: Partial<ClientAssertion['claims']> = {};
