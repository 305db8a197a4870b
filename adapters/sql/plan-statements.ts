import type { PlannedAction } from '../../application/ports/client-store.ts';
import type { SqlDialect } from './sql-database.ts';

/** Stored clients that one statement looks through: it takes a small part of its deadline. */
const RANGE_SIZE = 20_000;

/** Clients of one page. */
const PAGE_SIZE = 2_000;

/** Those of the temporary table. */
const COLUMNS = 9;

const FIELDS = 'client_id, client_secret, client_name, scope';

/**
 * Statements of a plan, whose clients wait in a temporary table, which only their connection sees.
 *
 * @param hasDetails whether `clients` has the column.
 */
export function planStatements({ temporary, jsonType, bytewise, length, ownerOf }: SqlDialect, hasDetails: boolean) {
  const planned = `${temporary}.planned_clients`;
  /** The tables of others may have such columns too. */
  const batch = 'planned.position >= $1 and planned.position < $2';
  const names = ['client_secret', 'client_name', 'scope', ...(hasDetails ? ['details'] : [])];
  const details = hasDetails ? 'cast(stored.details as text)' : "'{}'";
  /** All that is stored of a client. The lengths keep the columns apart, and the columns may have different collations. */
  const version = `(cast(${length}(stored.client_secret) as text) || ' ' || cast(${length}(stored.client_name) as text) || ' '
    || stored.client_secret || stored.client_name || stored.scope || coalesce(${details}, '')) ${bytewise}`;
  const id = `client_id ${bytewise}`;
  /** Parameters: the owner, and the first and the last id of a range. */
  const owned = `stored.${id} >= $2 and stored.${id} <= $3 and ${hasDetails ? ownerOf('stored.details') : "''"} = $1
    and not exists (select 1 from ${planned} as planned where planned.client_id = stored.client_id)`;
  return {
    drop: `drop table if exists ${planned}`,
    create: `create temporary table planned_clients (position integer primary key, client_id text ${bytewise} not null unique,
      client_secret text not null, client_name text not null, scope text not null, details ${jsonType} not null,
      action text not null, changes text not null, version text)`,
    /** Parameters: the columns of so many rows. Leaves out ids that are there already. */
    add: (rows: number) => `insert into ${planned} (position, ${FIELDS}, details, action, changes, version) values
      ${Array.from({ length: rows }, (_, row) => `(${parameters(COLUMNS, COLUMNS * row)})`).join(', ')}
      on conflict do nothing returning position`,
    first: `select position from ${planned} where client_id = $1`,
    /** Parameters: so many ids. */
    find: (ids: number) => `select cast(id as text) as "id", client_id as "clientId", client_secret as "clientSecret",
      client_name as "clientName", scope, ${details} as "details", ${version} as "version"
      from clients as stored where client_id in (${parameters(ids)})`,
    /** Parameter: the first id of a range of stored clients, or a text before it. */
    rangeEnd: `select max(${id}) as "end"
      from (select client_id from clients where ${id} >= $1 order by ${id} limit ${RANGE_SIZE}) as range`,
    /** Adds the other clients of an owner. Parameters: as above, and the position of the first one. */
    prune: `insert into ${planned} (position, ${FIELDS}, details, action, changes, version)
      select cast($4 as integer) - 1 + row_number() over (), client_id, '', '', '', cast('{}' as ${jsonType}), 'removed', '', ${version}
      from clients as stored where ${owned} returning position`,
    /** Whether the owner has clients that are not in the plan. */
    others: `select 1 from clients as stored where ${owned} limit 1`,
    /** Whether a client is not as the plan found it. Parameters of this and the next ones: the first position of a batch, and the one behind it. */
    outdated: `select 1 from ${planned} as planned left join clients as stored on stored.client_id = planned.client_id
      where ${batch} and planned.version is distinct from (${version}) limit 1`,
    remove: `delete from clients where client_id in 
      (select client_id from ${planned} as planned where action = 'removed' and ${batch}) returning 1`,
    change: `update clients as stored set (${names.join(', ')}) = (${names.map((name) => `planned.${name}`).join(', ')})
      from ${planned} as planned where stored.client_id = planned.client_id and planned.changes <> '' and ${batch} returning 1`,
    insert: `insert into clients (client_id, ${names.join(', ')}) select client_id, ${names.join(', ')}
      from ${planned} as planned where action = 'added' and ${batch} returning 1`,
    /** How many rows the three change. */
    changes: `select count(*) as "count" from ${planned} where action in ('added', 'removed') or changes <> ''`,
    count: `select action, count(*) as "count" from ${planned} group by action`,
    /** Parameter of the next page: the last id. */
    page: (actions: readonly PlannedAction[], next: string) => `select client_id as "clientId", action, changes,
        cast(details -> cast('claims' as text) as text) as "claims", ${ownerOf('details')} as "owner"
      from ${planned} where action in (${actions.map((action) => `'${action}'`).join(', ')})${next}
      order by client_id limit ${PAGE_SIZE}`,
  };
}

function parameters(count: number, before = 0): string {
  return Array.from({ length: count }, (_, index) => `$${before + index + 1}`).join(', ');
}
