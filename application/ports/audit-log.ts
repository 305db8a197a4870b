import type { ChangeEvent, OfClient, UnconfirmedChange } from './change-log.ts';

/**
 * Security-relevant events: which client got a token or was refused one, which key signed when, and who changed what.
 * Each is written with these fields, and docs/audit.schema.json is generated from them. Times in seconds since the
 * epoch.
 */
export type AuditEvent = TokenEvent | KeyEvent | ChangeEvent | UnconfirmedChange;

/**
 * The life of a key as this process sees it: it has added the key of `key_published`; it signs with that of
 * `key_signing` from now on, and not any more with that of `key_retired`. An operator has revoked the key of
 * `key_revoked`. The row of `key_restored` was lost, and this process has written it back.
 */
export interface KeyEvent {
  readonly event: 'key_published' | 'key_signing' | 'key_retired' | 'key_revoked' | 'key_restored';
  readonly at: number;
  /** kid of the key. */
  readonly key_id: string;
}

interface TokenRequest {
  readonly at: number;
  /** X-Request-Id of the response, and of its line in the request log. */
  readonly request_id: string;
  /** The caller, or a proxy that is not trusted. */
  readonly remote_address: string;
}

/** An unknown client id is absent: it may be a secret in the wrong field. */
interface Refused<Event extends string> extends Partial<OfClient> {
  readonly event: Event;
  /**
   * As in the request log.
   * @pattern ^[a-z_]+$
   */
  readonly reason: string;
}

export type TokenEvent = TokenRequest &
  (
    | (OfClient & {
        readonly event: 'token_issued';
        /** Claim jti of the token. */
        readonly token_id: string;
        /** The granted scopes. After 2,000 characters it is cut, and ends with an ellipsis. */
        readonly scope: string;
        readonly expires_at: number;
        /** By which it was issued, if not by client_credentials. */
        readonly grant?: 'jwt-bearer';
      })
    | Refused<'token_refused'>
    // Somebody who wanted to revoke a token, or asked about one, was not authenticated.
    | Refused<'revocation_refused'>
    | Refused<'introspection_refused'>
    // A client has revoked a token of its own.
    | (OfClient & {
        readonly event: 'token_revoked';
        /** Claim jti of the token. */
        readonly token_id: string;
      })
  );

/** The record of security-relevant events of a service. The request log is separate. */
export interface AuditLog {
  /**
   * Records an event, in the order of the calls, without secrets and tokens. Blocks nothing.
   *
   * A log that is not required resolves at once: an event that cannot be recorded is lost and counted. A required one
   * resolves when the event is written, and rejects with DependencyUnavailable if that is not possible within its
   * deadline: the caller must not answer what it says. What a key has done, and `change_unconfirmed`, cannot be taken
   * back: they never reject, and are written as soon as possible.
   */
  record(event: AuditEvent): Promise<void>;
}
