import type { RefusalReason } from '../../domain/refusal.ts';

/** Security-relevant events: which client got a token or was refused one, and which key signed when. Times in seconds since the epoch. */
export type AuditEvent = TokenEvent | KeyEvent;

/**
 * The life of a key of this process: a successor is published, then signs, then its predecessor is retired. `at` may be in the
 * future. An operator has revoked a key of `key_revoked`.
 */
export interface KeyEvent {
  readonly event: 'key_published' | 'key_signing' | 'key_retired' | 'key_revoked';
  readonly at: number;
  readonly keyId: string;
}

type TokenEvent =
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
      readonly reason: RefusalReason;
      /** Present only if the client is registered: an unknown id may be a secret in the wrong field. */
      readonly clientId?: string;
    };

/** The record of security-relevant events. The request log is separate. */
export interface AuditLog {
  /** Records an event, in the order of the calls, without secrets and tokens. Never throws: a token is not refused because a line could not be written. */
  record(event: AuditEvent): void;
}
