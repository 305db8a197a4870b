import type { AuditLog } from '../../../application/ports/audit-log.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import type { Exchange } from '../server/exchange.ts';
import { isHttpReason } from '../server/http-reasons.ts';
import { pathOf, TOKEN_PATH } from './paths.ts';

/**
 * Records each token request that got no token for a reason of HTTP: it was malformed, too much, or met a fault. The
 * use case has recorded what it decided itself, so each request is recorded once. Runs for refused requests only.
 */
export function recordRefusedTokenRequests(auditLog: AuditLog, clock: Clock, baseUrl: string) {
  const paths = [TOKEN_PATH, pathOf(baseUrl) + TOKEN_PATH];
  return async (exchange: Exchange): Promise<void> => {
    const { refusal, requestId, clientAddress, fault } = exchange.state;
    if (refusal === undefined || !isHttpReason(refusal.reason) || !isTokenRequest(exchange, paths)) return;
    // Its line is counted as lost. A second one would be counted too.
    if (isOfAuditLog(fault)) return;
    const origin = { request_id: requestId, remote_address: clientAddress };
    try {
      await auditLog.record({ event: 'token_refused', at: clock.now(), reason: refusal.reason, ...origin });
    } catch (fault) {
      // It is counted. The response tells nothing about a secret, unlike one of the use case, so it may be given.
      if (!isOfAuditLog(fault)) throw fault;
    }
  };
}

function isOfAuditLog(fault: unknown): boolean {
  return fault instanceof DependencyUnavailable && fault.dependency === 'audit log';
}

/** A request that was refused before it had a route has only the target as it was sent, which may be malformed. */
function isTokenRequest({ method, state, req: { url = '' } }: Exchange, paths: readonly string[]): boolean {
  return method === 'POST' && paths.includes(state.route ?? url.split('?', 1)[0] ?? '');
}
