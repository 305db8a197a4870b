import { defineEntity, p } from '@mikro-orm/core';
import type { ClientLookup } from '../../application/ports/client-repository.ts';
import { ClientRegistration, type ClientRegistrationFields } from '../../domain/client-registration.ts';
import { defineTable } from './table.ts';

/**
 * The table `clients`, as the service creates it if it is missing: client ids are unique and compared byte by byte (collation
 * `C`), and the row id is the table's own. Texts have no length limit here: reading refuses what is too long.
 */
export const CLIENTS = defineTable(
  defineEntity({
    name: 'Client',
    tableName: 'clients',
    properties: {
      id: p.bigint('string').primary().generated('by default as identity'),
      clientId: p.text().fieldName('client_id').collation('C').unique(),
      clientSecret: p.text().fieldName('client_secret'),
      clientName: p.text().fieldName('client_name'),
      scope: p.text(),
    },
  }),
  'read',
);

/** A row as it is read, all columns as text. A table that another application created may contain nulls. */
export type ClientRecord = { readonly [Field in keyof ClientRegistrationFields]: string | null };

/**
 * One round trip by the unique index. Columns are cast, so that a change of a column's type does not invalidate the
 * prepared statement. Two rows are requested, to notice an id that is not unique.
 */
export const FIND_CLIENT = {
  name: 'find_client',
  text: `select ${CLIENTS.selectList} from clients where ${CLIENTS.columns.clientId} = $1 limit 2`,
} as const;

/** A row as a registration's fields; a null reads as an empty text. */
export function fieldsOf({ id, clientId, clientSecret, clientName, scope }: ClientRecord): ClientRegistrationFields {
  return {
    id: id ?? '',
    clientId: clientId ?? '',
    clientSecret: clientSecret ?? '',
    clientName: clientName ?? '',
    scope: scope ?? '',
  };
}

/** What the rows found for a client id mean. The id is compared here once more, since a column may ignore case or spaces. */
export function lookupOf(records: readonly ClientRecord[], clientId: string): ClientLookup {
  const [record, another] = records.filter((found) => found.clientId === clientId);
  if (record === undefined) return { kind: 'unknown' };
  if (another !== undefined) return { kind: 'broken', problem: { field: 'clientId', rule: 'must be unique' } };
  const registration = ClientRegistration.of(fieldsOf(record));
  return registration.ok
    ? { kind: 'found', registration: registration.value }
    : { kind: 'broken', problem: registration.problem };
}
