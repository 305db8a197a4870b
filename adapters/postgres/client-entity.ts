import { defineEntity, p } from '@mikro-orm/core';
import { DETAILS_BYTES_MAX } from '../../application/client-lookup.ts';
import { FEDERATED_CANDIDATES_MAX } from '../../application/ports/client-repository.ts';
import { ENTRY_BYTES_MAX } from '../../application/ports/client-store.ts';
import { defineTable } from './table-definition.ts';

/** Finds a client by the identity of another issuer. Clients without one are not in it. Each look-up would read a list of pending updates. */
export const SUBJECT_INDEX = `create index clients_federated_subjects on "clients"
  using gin ((details -> 'federated_subjects'::text) jsonb_path_ops) with (fastupdate = off) where details ? 'federated_subjects'::text`;

/** The column of the details, as `npm run migrate` adds it to a table that another application has created. */
export const ADD_DETAILS = `alter table clients add column details jsonb not null default '{}'`;

/** Whether the table has that column. */
export const HAS_DETAILS = `exists (select from pg_catalog.pg_attribute where attrelid = pg_catalog.to_regclass('clients')::oid
  and attname = 'details' and not attisdropped)`;

/**
 * The table `clients`, as the service creates it if it is missing: client ids are unique and compared byte by byte (collation
 * `C`), and the row id is the table's own. Texts have no length limit here: reading refuses what is too long.
 */
export const CLIENTS = defineTable(
  defineEntity({
    name: 'Client',
    tableName: 'clients',
    indexes: [{ name: 'clients_federated_subjects', expression: SUBJECT_INDEX.replace('\n', '') }],
    properties: {
      id: p.bigint('string').primary().generated('by default as identity'),
      clientId: p.text().fieldName('client_id').collation('C').unique(),
      clientSecret: p.text().fieldName('client_secret'),
      clientName: p.text().fieldName('client_name'),
      scope: p.text(),
      details: p.json().defaultRaw(`'{}'`),
    },
  }),
  'read',
  ['details'],
);

const COLUMNS = `id::text as "id", client_id as "clientId", client_secret as "clientSecret", client_name as "clientName", scope`;

/**
 * Outside of a statement on `clients`: there, `details` means the column if the table has it, and otherwise this. So the same
 * statement serves a table without the column, also when it is added while the service runs.
 */
const NO_DETAILS = `(select '{}'::jsonb as details) as absent`;

/**
 * Parts of the details. A long list of keys or subjects costs a client with a secret nothing. Null for what is no object, which would fail
 * the statement, and with it the look-ups of other clients; and for what is longer than valid details, which would make them wait.
 */
const without = (bytesMax: number, ...fields: readonly string[]) => {
  const part = `(details - '{${fields.join(',')}}'::text[])::text`;
  return `case when pg_catalog.jsonb_typeof(details) <> 'object' then 'null'
    when pg_catalog.octet_length(${part}) > ${bytesMax} then 'null' else ${part} end as "details"`;
};

const SELECT_CLIENTS = `select found.* from ${NO_DETAILS}, lateral (select ${COLUMNS}, ${without(DETAILS_BYTES_MAX, 'jwks', 'federated_subjects')}
    from clients`;

/**
 * One round trip by the unique index. The subquery hides the ids from the planner, which would make a new plan for each
 * execution: that takes as long as the look-up. Parameter: an array of client ids.
 */
export const FIND_CLIENTS = {
  name: 'find_clients',
  text: `${SELECT_CLIENTS} where client_id = any ((select $1::text[])::text[])) as found`,
} as const;

/**
 * Only the secret, as one row whether the client id is registered or not. Parameters: client id, and whether the secrets with ids are
 * read too, unless they are longer than valid details.
 */
export const FIND_SECRET = {
  name: 'find_secret',
  text: `select found.* from ${NO_DETAILS}, lateral (select client_secret as "clientSecret",
      case when $2::boolean and coalesce(pg_catalog.pg_column_size(details -> 'secrets'::text), 0) <= ${DETAILS_BYTES_MAX}
        then pg_catalog.jsonb_build_object('secrets'::text, details -> 'secrets'::text)::text else '{}' end as "details"
    from (select $1::text as id) as asked left join clients on client_id = asked.id) as found`,
} as const;

/**
 * The clients with their keys, as one row for each id, whether it is registered or not: of an unknown one, the first client of the table is read,
 * which costs as much. Parameter: an array of client ids.
 */
export const FIND_WITH_KEYS = {
  name: 'find_with_keys',
  text: `select asked.id as "asked", found.* from pg_catalog.unnest((select $1::text[])) as asked (id), lateral (
      (select true as "own", ${COLUMNS}, ${without(DETAILS_BYTES_MAX, 'federated_subjects')} from clients where client_id = asked.id)
      union all (select false, ${COLUMNS}, ${without(DETAILS_BYTES_MAX, 'federated_subjects')} from clients order by client_id limit 1)
      limit 1) as found`,
} as const;

/** One round trip by the index of identities. Parameters: issuer and subject in an array of JSON, and a client id or an empty text for all. */
export const FIND_BY_SUBJECT = {
  name: 'find_by_subject',
  text: `select ${COLUMNS}, ${without(ENTRY_BYTES_MAX, 'jwks')} from clients
    where details ? 'federated_subjects'::text and (details -> 'federated_subjects'::text) @> $1::jsonb
      and ($2::text = '' or client_id = $2::text)
    order by client_id collate "C" limit ${FEDERATED_CANDIDATES_MAX}`,
} as const;

/** Both statements are one transaction. The BCrypt costs of all secrets, as two digits, also behind a lock or another prefix. Reads the whole table: once, when the service starts. */
export const findCosts = (milliseconds: number) => ({
  text: `set local statement_timeout = ${milliseconds};
    select distinct pg_catalog.substring(encoded, '[$]2[a-y][$]([0-9][0-9])[$]') as "cost" from ${NO_DETAILS}, lateral (
      select secrets.encoded from clients, lateral (select client_secret as encoded union all
        select pg_catalog.jsonb_path_query(details, '$.secrets[*].client_secret'::jsonpath) #>> '{}'::text[]) as secrets) as found
    where encoded like '%$2_$__$%'`,
});
