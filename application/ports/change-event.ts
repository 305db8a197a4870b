import type { RecordedClient } from '../../domain/client-document.ts';
import type { ImportCounts, ImportedFile } from './client-store.ts';

/** Which change, and who made it. */
interface Change {
  readonly at: number;
  readonly changeId: string;
  /** The role that the program has authenticated as; undefined in a storage without roles. */
  readonly databaseRole: string | undefined;
}

/** A change that an operator makes with one of the programs. Times in seconds since the epoch. */
export type ChangeEvent = Change &
  (
    | { readonly event: 'client_added'; readonly clientId: string; readonly after: RecordedClient }
    | {
        readonly event: 'client_changed';
        readonly clientId: string;
        /** What is different. `client_secret` is the secret without an id, which has no value that may be shown. */
        readonly changed: readonly (keyof RecordedClient | 'client_secret')[];
        /** The members that are different. */
        readonly before: Partial<RecordedClient>;
        readonly after: Partial<RecordedClient>;
      }
    | { readonly event: 'client_removed'; readonly clientId: string; readonly before: RecordedClient }
    | ({ readonly event: 'clients_imported'; readonly file: ImportedFile } & ImportCounts)
    | {
        readonly event: 'directory_key_revoked';
        readonly keyId: string;
        /** When the key was to be trusted until, and which replica published it; undefined if it is not known. */
        readonly trustedUntil: number | undefined;
        readonly replica: string | undefined;
      }
  );

/** The change of that id was recorded, but the storage did not confirm it: it may not have been made. */
export interface UnconfirmedChange {
  readonly event: 'change_unconfirmed';
  readonly at: number;
  readonly changeId: string;
}
