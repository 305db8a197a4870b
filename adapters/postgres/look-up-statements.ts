import { COLUMN_BYTES_MAX } from '../../application/client-lookup.ts';
import { FEDERATED_CANDIDATES_MAX } from '../../application/ports/client-repository.ts';

/**
 * A column as text. Null for what is no object, which would fail the statement, and with it the look-ups of other
 * clients; and for what is longer than a valid one, which would make them wait.
 */
const column = (
  name: keyof typeof COLUMN_BYTES_MAX,
) => `case when pg_catalog.jsonb_typeof(${name}) <> 'object' then 'null'
    when pg_catalog.octet_length(${name}::text) > ${COLUMN_BYTES_MAX[name]} then 'null' else ${name}::text end`;

const BY_SUBJECT = `credentials ? 'federated_subjects'::text and (credentials -> 'federated_subjects'::text) @> $1::jsonb
  and ($2::text = '' or client_id = $2::text)`;

/**
 * Statements of requests. @param hasColumns whether the table has the columns `credentials` and `details`. Without
 * them, no client has any.
 */
export function lookUpStatements(hasColumns: boolean) {
  const columnOf = (name: keyof typeof COLUMN_BYTES_MAX) => `${hasColumns ? column(name) : "'{}'"} as "${name}"`;
  const credentials = `client_id as "clientId", client_secret as "clientSecret", ${columnOf('credentials')}`;
  const columns = `id::text as "id", ${credentials}, client_name as "clientName", scope, ${columnOf('details')}`;
  const suffix = hasColumns ? '' : '_bare';
  return {
    /**
     * One round trip by the unique index. The subquery hides the ids from the planner, which would make a new plan for
     * each execution: that takes as long as the look-up. Parameter: an array of client ids.
     */
    findClients: {
      name: `find_clients${suffix}`,
      text: `select ${columns} from clients where client_id = any ((select $1::text[])::text[])`,
    },
    /**
     * What authenticates clients, as one row for each id, registered or not: of an unknown one, that of another client,
     * which takes as long. The condition that is always true looks for that one where the client is found. Parameters:
     * an array of client ids, and one with the `id` of the row, or of the one before it, that takes the place of each.
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
    /**
     * One round trip by the index of identities. Parameters: issuer and subject in an array of JSON, and a client id or
     * an empty text for all.
     */
    findBySubject: {
      name: `find_by_subject${suffix}`,
      text: `select ${columns} from clients where ${hasColumns ? BY_SUBJECT : `$1::text = '' and ($2::text = '' or client_id = $2::text)`}
        order by client_id collate "C" limit ${FEDERATED_CANDIDATES_MAX}`,
    },
  } as const;
}

/** Of an empty table, null. */
export const HIGHEST_ID = 'select pg_catalog.max(id) as "highest" from clients';

/**
 * Both statements are one transaction. The BCrypt costs of all secrets, as two digits, also behind a lock or another
 * prefix. Reads the whole table: once, when the service starts.
 */
export const findCosts = (milliseconds: number, hasColumns: boolean) => ({
  text: `set local statement_timeout = ${milliseconds};
    select distinct pg_catalog.substring(encoded, '[$]2[a-y][$]([0-9][0-9])[$]') as "cost" from (
      select secrets.encoded from clients, lateral (select client_secret as encoded ${hasColumns ? NAMED_SECRETS : ''}) as secrets) as found
    where encoded like '%$2_$__$%'`,
});

const NAMED_SECRETS = `union all
  select pg_catalog.jsonb_path_query(credentials, '$.secrets[*].client_secret'::jsonpath) #>> '{}'::text[]`;
