import type { Refusal } from '../domain/refusal.ts';
import type { TokenEvent } from './ports/audit-log.ts';
import type { RequestOrigin } from './ports/caller.ts';

/** The audit event of a refused request. */
export function refusalEvent(
  event: 'token_refused' | 'revocation_refused' | 'introspection_refused',
  { reason, clientId }: Pick<Refusal, 'reason' | 'clientId'>,
  { requestId, remoteAddress }: RequestOrigin,
  at: number,
): TokenEvent {
  const client = clientId !== undefined && { client_id: clientId };
  return { event, at, reason, ...client, request_id: requestId, remote_address: remoteAddress };
}
