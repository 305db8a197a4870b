import type { ClientLookup } from '../../application/ports/client-repository.ts';
import { ClientRegistration, type ClientRegistrationFields } from '../../domain/client-registration.ts';

/** A row of `clients` as it is read, all columns as text; a table that somebody else made may hold nulls. */
export type ClientRecord = { readonly [Field in keyof ClientRegistrationFields]: string | null };

/**
 * One round trip by the unique index. Each column is cast, so that a row id beyond 2^53 keeps its digits and a change of
 * a column's type does not spoil the prepared statement. Two rows are asked for, to see an id that is not unique.
 */
export const FIND_CLIENT = {
  name: 'find_client',
  text: `select id::text as "id", client_id::text as "clientId", client_secret::text as "clientSecret",
    client_name::text as "clientName", scope::text as "scope" from clients where client_id = $1 limit 2`,
} as const;

/** What the rows found for a client id say. The id is compared here once more, since a column may have been declared to fold case or spaces. */
export function lookupOf(records: readonly ClientRecord[], clientId: string): ClientLookup {
  const [record, another] = records.filter((found) => found.clientId === clientId);
  if (record === undefined) return { kind: 'unknown' };
  if (another !== undefined) return { kind: 'broken', problem: { field: 'clientId', rule: 'must be unique' } };
  const registration = ClientRegistration.of({
    id: record.id ?? '',
    clientId,
    clientSecret: record.clientSecret ?? '',
    clientName: record.clientName ?? '',
    scope: record.scope ?? '',
  });
  return registration.ok
    ? { kind: 'found', registration: registration.value }
    : { kind: 'broken', problem: registration.problem };
}
