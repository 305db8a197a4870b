import { defineEntity, p } from '@mikro-orm/core';
import type { ClientLookup } from '../../application/ports/client-repository.ts';
import { ClientRegistration, type ClientRegistrationFields } from '../../domain/client-registration.ts';
import { StoredSecret } from '../../domain/stored-secret.ts';
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

/**
 * Only the secret, as one row whether the client id is registered or not: an aggregate without rows gives nulls. The id is
 * compared once more as text, since a column may ignore case or spaces. More than one row: the id is not unique.
 */
export const FIND_SECRET = {
  name: 'find_secret',
  text: `select min(${CLIENTS.columns.clientSecret}::text) as "secret", count(*)::text as "rows" from clients
    where ${CLIENTS.columns.clientId} = $1 and ${CLIENTS.columns.clientId}::text = $2::text collate "C"`,
} as const;

/** The one row of `FIND_SECRET`. */
export interface SecretRecord {
  readonly secret: string | null;
  readonly rows: string;
}

/** The stored secret that the row means; undefined for an unknown client id. */
export function secretOf(record: SecretRecord | undefined): StoredSecret | undefined {
  if (record === undefined || record.rows === '0') return undefined;
  return StoredSecret.parse(record.rows === '1' ? (record.secret ?? '') : '');
}

/** The BCrypt costs of all stored secrets, as two digits. Reads the whole table: once, when the service starts. */
export const FIND_COSTS = {
  text: `select distinct substr(${CLIENTS.columns.clientSecret}::text, 5, 2) as "cost" from clients
    where ${CLIENTS.columns.clientSecret}::text like '$2_$__$%'`,
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
