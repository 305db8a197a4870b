import { type Refusal, refused } from '../domain/refusal.ts';
import { type Result, success } from '../domain/result.ts';
import type { AuditLog } from './ports/audit-log.ts';
import type { Caller, RequestOrigin } from './ports/caller.ts';
import type { CallerBudget } from './ports/caller-budget.ts';
import type { ClientAuthentication, ClientCredentials } from './ports/client-credentials.ts';
import type { Clock } from './ports/clock.ts';
import type { VerificationKeys } from './ports/key-provider.ts';
import type { Revocations } from './ports/revocations.ts';
import { refusalEvent } from './refusal-event.ts';
import { verifyToken } from './verify-token.ts';

/** Seconds beyond its end that a revoked token is kept: for the clocks of replicas. */
const KEPT_LONGER_SECONDS = 60;

export interface RevocationRequest {
  readonly token: string;
  readonly credentials: ClientCredentials;
  readonly caller: Caller & RequestOrigin;
}

interface RevokeTokenParts {
  readonly authenticateClient: ClientAuthentication<ClientCredentials>;
  readonly revocations: Pick<Revocations, 'revoke'>;
  readonly budget: CallerBudget;
  readonly keys: VerificationKeys;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/** Revokes an access token, for the client that it was issued to (RFC 7009). */
export class RevokeToken {
  readonly #parts: RevokeTokenParts;

  constructor(parts: RevokeTokenParts) {
    this.#parts = parts;
  }

  /**
   * The client, or an `invalid_client` or `slow_down` refusal, once it is recorded. A token that is malformed, forged,
   * expired or another client's is left as it is, and the response is the same. Once it resolves, no introspection that
   * begins later calls the token active. Throws what the ports throw.
   */
  async execute({ token, credentials, caller }: RevocationRequest): Promise<Result<string, Refusal>> {
    const { authenticateClient, revocations, budget, keys, clock, auditLog } = this.#parts;
    const client = await authenticateClient.execute(credentials, caller);
    if (!client.ok) {
      await auditLog.record(refusalEvent('revocation_refused', client.problem, caller, clock.now()));
      return client;
    }
    const { clientId } = client.value;
    if (!budget.take(clientId)) return refused('introspections_exhausted', clientId);
    const verified = await verifyToken(token, keys);
    if (!verified.ok || verified.value.sub !== clientId || verified.value.exp <= clock.now()) return success(clientId);
    const { jti: tokenId, exp } = verified.value;
    await revocations.revoke({ clientId, tokenId, keptUntil: exp + KEPT_LONGER_SECONDS });
    const origin = { at: clock.now(), request_id: caller.requestId, remote_address: caller.remoteAddress };
    await auditLog.record({ event: 'token_revoked', client_id: clientId, token_id: tokenId, ...origin });
    return success(clientId);
  }
}
