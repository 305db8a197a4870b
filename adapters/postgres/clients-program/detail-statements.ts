import { DETAIL_KINDS, DETAIL_TABLES as TABLES } from '../../../application/clients-program/detail-tables.ts';
import type { ClientDetails } from '../../../domain/client-details.ts';

const IS_OF_REGISTRATION = 'client_id = $1 and registration_id = $2';
const IS_OF_ROW = 'client_id = client."clientId" collate "C" and registration_id = client.id';

/** All entries of a registration as one JSON array; an empty one for no row. */
function entriesOf(kind: keyof ClientDetails, json: '::json' | '', isOfRegistration: string): string {
  const { name, order, columns } = TABLES[kind];
  const members = Object.entries(columns).map(([column, type]) => {
    return `'${column}', ${type === 'json' ? `${column}${json}` : column}`;
  });
  return `coalesce((select pg_catalog.json_agg(pg_catalog.json_build_object(${members.join(', ')}) order by ${order})
      from $schema.${name} where ${isOfRegistration}), '[]')::text`;
}

/** What is selected for a row of `client`, which has its client id and row id: the bytes of its details, and each kind as JSON whose JSON members are texts. */
export const exportedDetails = () => ({
  size: DETAIL_KINDS.map((kind) => {
    const { name, columns } = TABLES[kind];
    const sizes = Object.entries(columns).map(([column, type]) =>
      type === 'bigint' ? '20' : `pg_catalog.octet_length(${column})`,
    );
    return `coalesce((select pg_catalog.sum(${sizes.join(' + ')}) from $schema.${name} where ${IS_OF_ROW}), 0::bigint)`;
  }).join(' + '),
  entries: DETAIL_KINDS.map((kind) => `${entriesOf(kind, '', `${IS_OF_ROW} and client.fits`)} as "${kind}"`).join(', '),
});

/** The registration of parameters 1 and 2, whose new entries are the JSON array of parameter 3. */
const ONE_REGISTRATION = '(select $1::text as client_id, $2::text as registration_id, $3::text as entries)';

/**
 * Statements that replace the entries of registrations. Rows that stay keep the time of their creation, and one that is the same is not written.
 *
 * @param owners a query for client ids, row ids, and the new entries of each as a JSON array.
 */
export function replacement(kind: keyof ClientDetails, owners: string) {
  const { name, key, columns } = TABLES[kind];
  const names = Object.keys(columns);
  const typed = Object.entries(columns).map(([column, type]) => `${column} ${type === 'json' ? 'text' : type}`);
  const given = `pg_catalog.json_to_recordset(owner.entries::json) as given (${typed.join(', ')})`;
  const isGiven = key.map((column) => `given.${column} = stored.${column}`).join(' and ');
  const others = names.filter((column) => !key.some((part) => part === column));
  const columnsOf = (row: string) => `(${others.map((column) => `${row}.${column}`).join(', ')})`;
  const changes = others.map((column) => `${column} = excluded.${column}`);
  const update = `update set ${changes.join(', ')} where ${columnsOf('stored')} is distinct from ${columnsOf('excluded')}`;
  return {
    remove: `with owner as materialized ${owners} delete from $schema.${name} as stored using owner
      where stored.client_id = owner.client_id and stored.registration_id = owner.registration_id
      and not exists (select from ${given} where ${isGiven})`,
    store: `with owner as materialized ${owners} insert into $schema.${name} as stored (client_id, registration_id, ${names.join(', ')})
      select owner.client_id, owner.registration_id, ${names.map((column) => `given.${column}`).join(', ')} from owner cross join lateral ${given}
      on conflict (client_id, registration_id, ${key.join(', ')}) do ${changes.length === 0 ? 'nothing' : update}`,
  };
}

/** Whether a registration has a row, which has not expired by the time that is parameter 3. */
function hasValid(kind: 'secrets' | 'keys' | 'subjects'): string {
  const { name, columns } = TABLES[kind];
  const isValid = 'expires_at' in columns ? 'coalesce(expires_at > $3::bigint, true)' : 'true';
  return `exists (select from $schema.${name} as details where details.client_id = given.client_id
    and details.registration_id = given.id and ${isValid})`;
}

/** Statements on the details of a registration. Parameters 1 and 2: client id, and row id as text. */
export const DETAIL_STATEMENTS = {
  /** Each kind as the JSON of a list. */
  find: `select ${DETAIL_KINDS.map((kind) => `${entriesOf(kind, '::json', IS_OF_REGISTRATION)} as "${kind}"`).join(', ')}`,

  /** A row for each of several registrations. Parameters: arrays of client ids and of row ids, and a time. */
  summarize: `select ${hasValid('secrets')} as "secret", ${hasValid('keys')} as "key", ${hasValid('subjects')} as "subject"
    from rows from (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) with ordinality as given (client_id, id, position) order by position`,

  replace: DETAIL_KINDS.map((kind) => ({ kind, ...replacement(kind, ONE_REGISTRATION) })),

  /** Parameter: client id. Rows of earlier registrations of this id go too. */
  remove: (table: string) => `delete from $schema.${table} where client_id = $1`,
} as const;
