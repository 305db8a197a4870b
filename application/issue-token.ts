import { type AccessTokenClaims, TOKEN_LENGTH_MAX } from '../domain/access-token-claims.ts';
import { type Refusal, refused } from '../domain/refusal.ts';
import { isResourceIndicator } from '../domain/resource-indicator.ts';
import { type Result, success } from '../domain/result.ts';
import { Scope } from '../domain/scope.ts';
import type { TokenPolicy } from '../domain/token-policy.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { Caller, RequestOrigin } from './ports/caller.ts';
import type { ClientAuthentication, ClientCredentials } from './ports/client-credentials.ts';
import type { Clock } from './ports/clock.ts';
import type { IdGenerator } from './ports/id-generator.ts';
import type { TokenSigner } from './token-signer.ts';

export interface TokenRequest {
  readonly credentials: ClientCredentials;
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
  readonly expiresInSeconds: number;
}

interface IssueTokenParts {
  readonly authenticateClient: ClientAuthentication<ClientCredentials>;
  readonly policy: TokenPolicy;
  readonly signer: Pick<TokenSigner, 'sign'>;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly auditLog: AuditLog;
}

/** The client credentials grant (RFC 6749 section 4.4): issues an access token for valid credentials. */
export class IssueToken {
  readonly #parts: IssueTokenParts;

  constructor(parts: IssueTokenParts) {
    this.#parts = parts;
  }

  /** A token, or a refusal, once it is recorded. Throws what the ports throw. */
  async execute(request: TokenRequest): Promise<Result<IssuedToken, Refusal>> {
    const outcome = await this.#issue(request);
    await this.#record(outcome, request.caller);
    return outcome;
  }

  async #issue({ credentials, scope, resources, caller }: TokenRequest): Promise<Result<IssuedToken, Refusal>> {
    const { authenticateClient, policy, signer, clock, ids } = this.#parts;

    // What is malformed is refused before it costs a hash; what is not registered, only after the client is authenticated.
    const requested = scope === undefined ? undefined : Scope.parse(scope);
    if (requested?.ok === false) {
      const malformed = scope?.split(' ').find((token) => !Scope.parse(token).ok) || scope;
      return refused('scope_malformed', undefined, malformed);
    }
    const malformed = resources.find((resource) => !isResourceIndicator(resource));
    if (malformed !== undefined) return refused('resource_malformed', undefined, malformed);

    const client = await authenticateClient.execute(credentials, caller);
    if (!client.ok) return client;

    const granted = policy.grant(client.value, requested?.value, resources);
    if (!granted.ok) return granted;

    const [registration, issuedAt] = [client.value, clock.now()];
    const claims = policy.claimsOf({ registration, ...granted.value, issuedAt, tokenId: ids.uuid() });
    const accessToken = await signer.sign(claims);
    if (accessToken.length > TOKEN_LENGTH_MAX) {
      return refused(resources.length === 0 ? 'scope_too_long' : 'resources_too_long', registration.clientId);
    }
    return success({
      accessToken,
      claims,
      scope: granted.value.scope.toString(),
      expiresInSeconds: claims.exp - issuedAt,
    });
  }

  #record(outcome: Result<IssuedToken, Refusal>, { requestId, remoteAddress }: RequestOrigin): Promise<void> {
    const { auditLog, clock } = this.#parts;
    const origin = { request_id: requestId, remote_address: remoteAddress };
    if (!outcome.ok) {
      const { reason, clientId } = outcome.problem;
      const client = clientId !== undefined && { client_id: clientId };
      return auditLog.record({ event: 'token_refused', at: clock.now(), reason, ...client, ...origin });
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
      ...origin,
    });
  }
}
