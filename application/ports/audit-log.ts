import type { RecordedClient } from '../../domain/client-document.ts';

/**
 * Security-relevant events: which client got a token or was refused one, which key signed when, and who changed what. Each is
 * written as it is: docs/audit.schema.json describes its members. Times in seconds since the epoch.
 */
export type AuditEvent = TokenEvent | KeyEvent | ChangeEvent | UnconfirmedChange;

/**
 * The life of a key of this process: a successor is published, then signs, then its predecessor is retired. `at` may be in the
 * future. An operator has revoked a key of `key_revoked`.
 */
export interface KeyEvent {
  readonly event: 'key_published' | 'key_signing' | 'key_retired' | 'key_revoked';
  readonly at: number;
  readonly key_id: string;
}

/** Where a token request came from, and the id under which it is in the request log. */
export interface RequestOrigin {
  readonly requestId: string;
  /** The address of the caller, or of a proxy that is not trusted. */
  readonly remoteAddress: string;
}

type TokenEvent = { readonly at: number; readonly request_id: string; readonly remote_address: string } & (
  | {
      readonly event: 'token_issued';
      readonly client_id: string;
      readonly token_id: string;
      readonly scope: string;
      readonly expires_at: number;
    }
  | {
      readonly event: 'token_refused';
      /** As in the request log. */
      readonly reason: string;
      /** Present only if the client is registered: an unknown id may be a secret in the wrong field. */
      readonly client_id?: string;
    }
);

/** When a change was made, which one it is, and who made it. */
export interface ChangeMade {
  readonly at: number;
  readonly change_id: string;
  /** The role that the program has authenticated as; undefined in a storage without roles. */
  readonly database_role: string | undefined;
}

/** A change that an operator makes with one of the programs. */
export type ChangeEvent = ChangeMade &
  (
    | { readonly event: 'client_added'; readonly client_id: string; readonly after: RecordedClient }
    | {
        readonly event: 'client_changed';
        readonly client_id: string;
        /** What is different. `client_secret` is the secret without an id, which has no value that may be shown. */
        readonly changed: readonly (keyof RecordedClient | 'client_secret')[];
        /** The members that are different. */
        readonly before: Partial<RecordedClient>;
        readonly after: Partial<RecordedClient>;
      }
    | { readonly event: 'client_removed'; readonly client_id: string; readonly before: RecordedClient }
    | {
        readonly event: 'clients_imported';
        /** Its name without the folders. */
        readonly file: string;
        readonly sha256: string;
        readonly added: number;
        readonly replaced: number;
        readonly still_disabled: number;
      }
    | {
        readonly event: 'directory_key_revoked';
        readonly key_id: string;
        /** Which replica published the key, and when it was to be trusted until; undefined if it is not known. */
        readonly replica: string | undefined;
        readonly trusted_until: number | undefined;
      }
  );

/** The change of that id was recorded, but the storage did not confirm it: it may not have been made. */
interface UnconfirmedChange {
  readonly event: 'change_unconfirmed';
  readonly at: number;
  readonly change_id: string;
}

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
