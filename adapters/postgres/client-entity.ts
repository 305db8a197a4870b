import { defineEntity, p } from '@mikro-orm/core';
import { BRING_BACK, COLUMN_BYTES_MAX } from '../../application/client-lookup.ts';
import { FEDERATED_CANDIDATES_MAX } from '../../application/ports/client-repository.ts';
import { defineTable } from './table-definition.ts';

/** Finds a client by the identity of another issuer. Clients without one are not in it. Each look-up would read a list of pending updates. */
export const SUBJECT_INDEX = `create index clients_federated_subjects on "clients"
  using gin ((credentials -> 'federated_subjects'::text) jsonb_path_ops) with (fastupdate = off) where credentials ? 'federated_subjects'::text`;

/** The columns that `npm run migrate` adds to a table that another application has created. */
export const OWN_COLUMNS = ['credentials', 'details'] as const;

/** Whether the table has both. */
export const HAS_OWN_COLUMNS = `(select pg_catalog.count(*) = 2::bigint from pg_catalog.pg_attribute
  where attrelid = pg_catalog.to_regclass('clients')::oid and attname in ('credentials', 'details') and not attisdropped)`;

export const ADD_OWN_COLUMNS = `alter table clients ${OWN_COLUMNS.map((name) => `add column ${name} jsonb not null default '{}'`).join(', ')}`;

/** In the comment of the table: it has had these columns, so that one that is missing is lost. */
export const RECORD = '[authorization service: columns credentials, details]';

/** Keeps the credentials in their row: each request of a stranger reads them. */
export const KEEP_IN_ROW = `alter table clients alter column credentials set storage main, set (toast_tuple_target = 8160)`;

/**
 * The table `clients`, as the service creates it if it is missing: client ids are unique and compared byte by byte (collation
 * `C`), and the row id is the table's own. Texts have no length limit here: reading refuses what is too long.
 */
export const CLIENTS = defineTable(
  defineEntity({
    name: 'Client',
    tableName: 'clients',
    comment: RECORD,
    indexes: [{ name: 'clients_federated_subjects', expression: SUBJECT_INDEX.replace('\n', '') }],
    properties: {
      id: p.bigint('string').primary().generated('by default as identity'),
      clientId: p.text().fieldName('client_id').collation('C').unique(),
      clientSecret: p.text().fieldName('client_secret'),
      clientName: p.text().fieldName('client_name'),
      scope: p.text(),
      credentials: p.json().defaultRaw(`'{}'`),
      details: p.json().defaultRaw(`'{}'`),
    },
  }),
  'read',
  { optional: OWN_COLUMNS, more: KEEP_IN_ROW, ifLost: BRING_BACK },
);

/**
 * A column as text. Null for what is no object, which would fail the statement, and with it the look-ups of other clients; and for what is
 * longer than a valid one, which would make them wait.
 */
const column = (
  name: keyof typeof COLUMN_BYTES_MAX,
) => `case when pg_catalog.jsonb_typeof(${name}) <> 'object' then 'null'
    when pg_catalog.octet_length(${name}::text) > ${COLUMN_BYTES_MAX[name]} then 'null' else ${name}::text end`;

const BY_SUBJECT = `credentials ? 'federated_subjects'::text and (credentials -> 'federated_subjects'::text) @> $1::jsonb
  and ($2::text = '' or client_id = $2::text)`;

/** Statements of requests. @param hasColumns whether the table has the columns `credentials` and `details`. Without them, no client has any. */
export function lookUpStatements(hasColumns: boolean) {
  const columnOf = (name: keyof typeof COLUMN_BYTES_MAX) => `${hasColumns ? column(name) : "'{}'"} as "${name}"`;
  const credentials = `client_id as "clientId", client_secret as "clientSecret", ${columnOf('credentials')}`;
  const columns = `id::text as "id", ${credentials}, client_name as "clientName", scope, ${columnOf('details')}`;
  const suffix = hasColumns ? '' : '_bare';
  return {
    /**
     * One round trip by the unique index. The subquery hides the ids from the planner, which would make a new plan for each
     * execution: that takes as long as the look-up. Parameter: an array of client ids.
     */
    findClients: {
      name: `find_clients${suffix}`,
      text: `select ${columns} from clients where client_id = any ((select $1::text[])::text[])`,
    },
    /**
     * What authenticates clients, as one row for each id, registered or not: of an unknown one, that of another client, which takes as long. The
     * condition that is always true looks for that one where the client is found.
     * Parameters: an array of client ids, and one with the `id` of the row, or of the one before it, that takes the place of each.
     */
    findCredentials: {
      name: `find_credentials${suffix}`,
      text: `select asked.client_id as "asked", found.* from
        rows from (pg_catalog.unnest((select $1::text[])), pg_catalog.unnest((select $2::bigint[]))) as asked (client_id, decoy),
        lateral (select ${credentials} from clients where id = coalesce(
          (select id from clients where client_id = asked.client_id
            and (select id from clients where id >= asked.decoy order by id limit 1) is distinct from -1::bigint),
          (select id from clients where id >= asked.decoy order by id limit 1),
          (select id from clients order by id desc limit 1))) as found`,
    },
    /** One round trip by the index of identities. Parameters: issuer and subject in an array of JSON, and a client id or an empty text for all. */
    findBySubject: {
      name: `find_by_subject${suffix}`,
      text: `select ${columns} from clients where ${hasColumns ? BY_SUBJECT : `$1::text = '' and ($2::text = '' or client_id = $2::text)`}
        order by client_id collate "C" limit ${FEDERATED_CANDIDATES_MAX}`,
    },
  } as const;
}

/** Of an empty table, null. */
export const HIGHEST_ID = 'select pg_catalog.max(id)::text as "highest" from clients';

/** Both statements are one transaction. The BCrypt costs of all secrets, as two digits, also behind a lock or another prefix. Reads the whole table: once, when the service starts. */
export const findCosts = (milliseconds: number, hasColumns: boolean) => ({
  text: `set local statement_timeout = ${milliseconds};
    select distinct pg_catalog.substring(encoded, '[$]2[a-y][$]([0-9][0-9])[$]') as "cost" from (
      select secrets.encoded from clients, lateral (select client_secret as encoded ${hasColumns ? NAMED_SECRETS : ''}) as secrets) as found
    where encoded like '%$2_$__$%'`,
});

const NAMED_SECRETS = `union all
  select pg_catalog.jsonb_path_query(credentials, '$.secrets[*].client_secret'::jsonpath) #>> '{}'::text[]`;
