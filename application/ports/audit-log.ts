import type { ChangeEvent, UnconfirmedChange } from './change-event.ts';

/** Security-relevant events: which client got a token or was refused one, which key signed when, and who changed what. Times in seconds since the epoch. */
export type AuditEvent = TokenEvent | KeyEvent | ChangeEvent | UnconfirmedChange;

/**
 * The life of a key of this process: a successor is published, then signs, then its predecessor is retired. `at` may be in the
 * future. An operator has revoked a key of `key_revoked`.
 */
export interface KeyEvent {
  readonly event: 'key_published' | 'key_signing' | 'key_retired' | 'key_revoked';
  readonly at: number;
  readonly keyId: string;
}

/** Where a token request came from, and the id under which it is in the request log. */
export interface RequestOrigin {
  readonly requestId: string;
  /** The address of the caller, or of a proxy that is not trusted. */
  readonly remoteAddress: string;
}

type TokenEvent = RequestOrigin &
  (
    | {
        readonly event: 'token_issued';
        readonly at: number;
        readonly clientId: string;
        readonly tokenId: string;
        readonly scope: string;
        readonly expiresAt: number;
      }
    | {
        readonly event: 'token_refused';
        readonly at: number;
        /** As in the request log. */
        readonly reason: string;
        /** Present only if the client is registered: an unknown id may be a secret in the wrong field. */
        readonly clientId?: string;
      }
  );

/** The record of security-relevant events. The request log is separate. */
export interface AuditLog {
  /**
   * Records an event, in the order of the calls, without secrets and tokens. Costs one short write at most.
   *
   * A log that is not required never throws: an event that cannot be recorded is lost and counted. A required one throws
   * DependencyUnavailable for an event of a token or of a change that it could not write, and the caller must not answer or
   * change what it says. The other events cannot be taken back: they never throw, and are written as soon as that is possible.
   */
  record(event: AuditEvent): void;
}
