import type { RecordedClient } from '../../domain/client-document.ts';

export interface OfClient {
  /**
   * The id of a registered client.
   * @minLength 1
   */
  readonly client_id: string;
}

/** What an import or an apply has done to one client. */
interface StoredOfFile extends OfClient {
  readonly action: 'added' | 'changed' | 'replaced' | 'removed';
  /**
   * Of a changed or replaced one, the fields that differ, in the names of a clients file. An adopted one has `owner`
   * among them.
   */
  readonly fields?: readonly string[];
  /** The names of the claims that it has now, if the file changes them. */
  readonly claims?: readonly string[];
  /** Whose it is now, if the file changes that. */
  readonly owner?: string;
}

/** A file that changed clients. If it changed many, there are several such events with the same `change_id`. */
interface OfFile {
  /** Name of the file or of the folder, without the folder that it is in. */
  readonly file: string;
  /**
   * SHA-256 of the bytes that were read from it; of a folder, that of a line for each file, with its SHA-256, two
   * spaces and its path.
   * @pattern ^[0-9a-f]{64}$
   */
  readonly sha256: string;
  /** The next ones of the clients that it changed, by their ids. The counts are those of all of them. */
  readonly clients: readonly StoredOfFile[];
}

/** When a change was made, which one it is, and who made it. */
export interface ChangeMade {
  readonly at: number;
  /** Of a later line, if the database does not confirm the change. */
  readonly change_id: string;
  /** The role that the program has authenticated as. A storage without roles has none. */
  readonly database_role: string | undefined;
  /**
   * The client that has made it, by the API.
   * @minLength 1
   */
  readonly changed_by?: string;
}

/** A change that an operator makes with one of the programs. */
export type ChangeEvent = ChangeMade &
  (
    | (OfClient & { readonly event: 'client_added'; readonly after: RecordedClient })
    | (OfClient & {
        readonly event: 'client_changed';
        /**
         * The fields that differ. `client_secret` is the secret without an id, whose value is never shown.
         * @minItems 1
         * @uniqueItems true
         */
        readonly changed: readonly (keyof RecordedClient | 'client_secret')[];
        readonly before: Partial<RecordedClient>;
        readonly after: Partial<RecordedClient>;
      })
    | (OfClient & { readonly event: 'client_removed'; readonly before: RecordedClient })
    | (OfClient & { readonly event: 'client_tokens_revoked' })
    | (OfFile & {
        readonly event: 'clients_imported';
        readonly added: number;
        readonly replaced: number;
        /** Of the replaced ones. */
        readonly still_disabled: number;
      })
    | (OfFile & {
        readonly event: 'clients_applied';
        readonly added: number;
        readonly changed: number;
        readonly removed: number;
      })
    | {
        readonly event: 'directory_key_revoked';
        /** kid of the key. */
        readonly key_id: string;
        /** Until when its tokens could have been valid, if the ring knew it. */
        readonly trusted_until: number | undefined;
      }
    | {
        readonly event: 'directory_key_ended';
        /** kid of the key. */
        readonly key_id: string;
        /** When the next key signs in its place. */
        readonly ends_at: number;
      }
  );

/**
 * Lines of the change with that id may be there, but it may not have been made: not all could be written, or the
 * storage did not confirm it.
 */
export interface UnconfirmedChange {
  readonly event: 'change_unconfirmed';
  readonly at: number;
  /** As in the line of the change. */
  readonly change_id: string;
}

/** The record of what operators change. */
export interface ChangeLog {
  /**
   * Writes an event before it returns or resolves. If it is not possible and required, throws DependencyUnavailable:
   * the change must not be made. `change_unconfirmed` never throws: it waits behind the lines that it is about.
   */
  record(event: ChangeEvent | UnconfirmedChange): void | Promise<void>;
}
