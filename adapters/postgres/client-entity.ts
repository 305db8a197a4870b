import { defineEntity, p } from '@mikro-orm/core';
import { lookupOf as lookupOfFields } from '../../application/client-lookup.ts';
import type { ClientLookup } from '../../application/ports/client-repository.ts';
import { type ClientRegistrationFields, FIELD_BYTES_MAX } from '../../domain/client-registration.ts';
import { StoredSecret, selectSecret } from '../../domain/stored-secret.ts';
import { STATEMENT_START } from './database-time.ts';
import { defineTable, migratedTable } from './table.ts';

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

/** A text or null, or zeros that are longer than any valid text in place of more bytes. The server knows the length without reading the text. */
export const bounded = (text: string, bytes = FIELD_BYTES_MAX) =>
  `case when pg_catalog.octet_length(${text}) > ${bytes} then pg_catalog.repeat('0', ${bytes}) else ${text} end`;

/** The columns of a look-up. */
export const BOUNDED_COLUMNS = Object.entries(CLIENTS.columns)
  .map(([property, column]) => `${bounded(`clients.${column}::text`)} as "${property}"`)
  .join(', ');

/** Further secrets of clients, with ids. */
export const CLIENT_SECRETS = migratedTable(
  'client_secrets',
  'optional',
  ...['client_id', 'registration_id', 'secret_id', 'encoded', 'expires_at'],
);

/** A row as it is read, all columns as text. A table that another application created may contain nulls. */
export type ClientRecord = { readonly [Field in keyof ClientRegistrationFields]: string | null } & NamedSecretRecord;

/** The encoding of the secret that an id selects; null if there is none that is valid now. Absent if no id was given. */
interface NamedSecretRecord {
  readonly named?: string | null;
}

/**
 * Parameter: the client id. The column may have another type than text, and the index on it serves only the operator of its own
 * type. An operator between two types that are not exactly its own has to be qualified: docs/decisions/0120.
 */
const IS_CLIENT = `${CLIENTS.columns.clientId} operator(pg_catalog.=) $1`;

/** Parameters: the client id, twice. Compared once more as text, since a column may ignore case or spaces. */
const IS_EXACTLY_CLIENT = `${IS_CLIENT} and ${CLIENTS.columns.clientId}::text = $2::text collate "C"`;

const SECRET_AND_ROWS = `pg_catalog.min(${bounded(`${CLIENTS.columns.clientSecret}::text`)}) as "secret", pg_catalog.count(*)::text as "rows"`;

/**
 * The encoding of the secret with an id, of one registration. Parameters 2 and 3: client id and secret id. The look-up is
 * made whether the client is registered or not; a missing registration has an id that no row has.
 */
const namedSecretOf = (registrationId: string) => `(select ${bounded('encoded')} from $schema.client_secrets
      where client_id = $2 and registration_id = coalesce(${registrationId}, '') and secret_id = $3
        and (expires_at is null or expires_at > ${STATEMENT_START})) as "named"`;

/** The most rows of FIND_CLIENTS. So many are found only if ids are not unique. */
export const CLIENT_ROWS_MAX = 128;

/**
 * A parameter that is an array of client ids. The aggregate of no rows gives it the type of an array of the column, whatever it is. And the
 * planner cannot look into the array: it would make a new plan for each execution, which takes as long as the look-up.
 */
export const clientIds = (parameter: string) =>
  `coalesce((select pg_catalog.array_agg(${CLIENTS.columns.clientId}) from $schema.clients where false), ${parameter})`;

/**
 * One round trip by the unique index. Columns are cast, so that a change of a column's type does not invalidate the
 * prepared statement. Parameter: an array of client ids.
 */
export const FIND_CLIENTS = {
  name: 'find_clients',
  text: `select ${BOUNDED_COLUMNS} from $schema.clients where ${CLIENTS.columns.clientId} operator(pg_catalog.=) any (${clientIds('$1')})
    limit ${CLIENT_ROWS_MAX}`,
} as const;

/** The row of one client with the secret that an id selects. Parameters: client id, client id and secret id. Two rows are requested, to notice an id that is not unique. */
export const FIND_CLIENT_BY_SECRET = {
  name: 'find_client_by_secret',
  text: `select ${BOUNDED_COLUMNS}, ${namedSecretOf(`clients.${CLIENTS.columns.id}::text`)}
    from $schema.clients where ${IS_CLIENT} limit 2`,
} as const;

/**
 * Only the secret, as one row whether the client id is registered or not: an aggregate without rows gives nulls. The id is
 * compared once more as text, since a column may ignore case or spaces. More than one row: the id is not unique.
 */
export const FIND_SECRET = {
  name: 'find_secret',
  text: `select ${SECRET_AND_ROWS} from $schema.clients where ${IS_EXACTLY_CLIENT}`,
} as const;

/** The same with the secret that an id selects. Parameters: client id, client id and secret id. */
export const FIND_SECRET_BY_ID = {
  name: 'find_secret_by_id',
  text: `select "secret", "rows", ${namedSecretOf('client.row_id')}
    from (select ${SECRET_AND_ROWS}, pg_catalog.min(${CLIENTS.columns.id}::text) as row_id from $schema.clients
      where ${IS_EXACTLY_CLIENT}) as client`,
} as const;

/** The one row of these. */
export interface SecretRecord extends NamedSecretRecord {
  readonly secret: string | null;
  readonly rows: string;
}

/** The stored secret that the row means; undefined for an unknown client id. */
export function secretOf(record: SecretRecord | undefined): StoredSecret | undefined {
  if (record === undefined || record.rows === '0') return undefined;
  return StoredSecret.parse(record.rows === '1' ? selectSecret(record.secret ?? '', record.named ?? undefined) : '');
}

/** Both statements are one transaction. Before PostgreSQL 13, the deadline of a request is the limit of both. */
const within = (milliseconds: number) => `set local statement_timeout = ${milliseconds};`;

const ENCODED = { clients: CLIENTS.columns.clientSecret, client_secrets: 'encoded' } as const;

/** The BCrypt costs of all secrets in a table, as two digits, also behind a lock or another prefix. Reads the whole table: once, when the service starts. */
export const findCosts = (table: keyof typeof ENCODED, milliseconds: number) => ({
  text: `${within(milliseconds)} select distinct pg_catalog.substring(${ENCODED[table]}::text, '[$]2[a-y][$]([0-9][0-9])[$]') as "cost" from $schema.${table}
    where ${ENCODED[table]}::text like '%$2_$__$%'`,
});

/** How many rows are counted at most, so that a count takes some milliseconds. */
const EXPIRING_MAX = 10_000;

/**
 * How many valid secrets or keys of registered clients expire soon. The rows come from an index. What is left of a client
 * that another program has deleted is of no use, and does not count. Parameter: seconds until then.
 */
export const countExpiring = (table: 'client_secrets' | 'client_keys') => ({
  name: `expiring_${table}`,
  // As JSON, the ids lose their collation, which need not be that of the table of clients.
  text: `select pg_catalog.count(*)::int as "count" from pg_catalog.json_to_recordset((
      select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('client', client_id, 'registration', registration_id)), '[]')
      from (select client_id, registration_id from $schema.${table}
          where expires_at > ${STATEMENT_START}
            and expires_at <= ${STATEMENT_START} + $1::bigint
          limit ${EXPIRING_MAX}) as expiring)) as owner (client text, registration text)
    where exists (select from $schema.clients
      where ${CLIENTS.columns.clientId} operator(pg_catalog.=) client and ${CLIENTS.columns.id}::text = registration)`,
});

/** A row as a registration's fields; a null reads as an empty text. */
export function fieldsOf(record: ClientRecord): ClientRegistrationFields {
  return {
    id: record.id ?? '',
    clientId: record.clientId ?? '',
    clientSecret: selectSecret(record.clientSecret ?? '', record.named ?? undefined),
    clientName: record.clientName ?? '',
    scope: record.scope ?? '',
  };
}

/** What the rows found for a client id mean. The id is compared here once more, since a column may ignore case or spaces. */
export function lookupOf(records: readonly ClientRecord[], clientId: string): ClientLookup {
  const [record, another] = records.filter((found) => found.clientId === clientId);
  if (record === undefined) return { kind: 'unknown' };
  if (another !== undefined) return { kind: 'broken', problem: { field: 'clientId', rule: 'must be unique' } };
  return lookupOfFields(fieldsOf(record));
}
