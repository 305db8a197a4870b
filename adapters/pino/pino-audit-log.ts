import type { Logger } from 'pino';
import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';

/** A longer scope is cut, and then ends with `…`, which no scope contains: a line over 4,096 bytes would mix with others. */
const SCOPE_MAX = 2_500;

/** Writes each event as a line of the JSON log with the member `event`. Request lines have `request_id` instead. */
export class PinoAuditLog implements AuditLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  record(event: AuditEvent): void {
    switch (event.event) {
      case 'key_published':
      case 'key_signing':
      case 'key_retired':
        this.#log.info({ event: event.event, at: event.at, key_id: event.keyId });
        break;
      case 'key_revoked':
        this.#log.error({ event: event.event, at: event.at, key_id: event.keyId });
        break;
      case 'token_issued':
        this.#log.info({
          event: event.event,
          at: event.at,
          client_id: event.clientId,
          token_id: event.tokenId,
          scope: event.scope.length > SCOPE_MAX ? `${event.scope.slice(0, SCOPE_MAX)}…` : event.scope,
          expires_at: event.expiresAt,
        });
        break;
      case 'token_refused':
        // pino leaves out a member that is undefined.
        this.#log.info({ event: event.event, at: event.at, reason: event.reason, client_id: event.clientId });
        break;
    }
  }
}
