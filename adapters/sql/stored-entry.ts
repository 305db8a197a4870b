import type { StoredEntry } from '../../application/ports/client-store.ts';
import { parseJson } from '../../domain/parse-json.ts';

/** What is read of a client that waits in the temporary table of an import. */
export interface WaitingClient extends Pick<StoredEntry, 'clientId' | 'action'> {
  /** The names of the fields that differ; none if there was no plan, or the client is new. */
  readonly changes: string | null;
  /** As JSON; null if the file does not have them. */
  readonly claims: string | null;
  readonly owner: string | null;
}

/** What was done to it. */
export function storedEntry({ clientId, action, changes, claims, owner }: WaitingClient): StoredEntry {
  const fields = changes ? changes.split(' ') : [];
  const isSet = (field: string, value: string | null) => (changes ? fields.includes(field) : value !== null);
  return {
    clientId,
    action,
    changes: fields,
    ...(isSet('claims', claims) && { claims: Object.keys(Object(parseJson(claims ?? '{}'))) }),
    ...(owner !== null && isSet('owner', owner) && { owner }),
  };
}
