import { defineEntity, p } from '@mikro-orm/core';
import { DATABASE_TIME } from './database-time.ts';
import { defineTable } from './table-definition.ts';

/**
 * Assertions that clients have used, so that none is used again, in whichever replica. `digest` is of client id and `jti`.
 * A replica may repeat a statement whose response it has not received: `use_id` shows that the row is its own. Times are in
 * seconds since the epoch.
 */
export const USED_ASSERTIONS = defineTable(
  defineEntity({
    name: 'UsedAssertion',
    tableName: 'used_assertions',
    properties: {
      digest: p.text().collation('C').primary(),
      clientId: p.text().fieldName('client_id').collation('C'),
      keptUntil: p.bigint('string').fieldName('kept_until').index('used_assertions_kept_until'),
      useId: p.text().fieldName('use_id'),
    },
  }),
  'read and write',
  { ifLost: 'npm run migrate creates it' },
);

/**
 * What a use has to reach to have ended: the time of the database or that of this replica (the parameter), whichever is
 * behind. So neither of two clocks that jumps ahead ends a use early, and back again an assertion is not accepted twice.
 */
function endedAt(parameter: string): string {
  return `(select least(${DATABASE_TIME.now}, ${parameter}::bigint))`;
}

/**
 * Records uses and returns the digests of those that were the first. Parameters: the uses as JSON, the id of this use, and the
 * time of this replica, by which the assertions are valid now. In order, so that two replicas with the same digests do not
 * wait for each other.
 */
export const RECORD_USES = {
  name: 'record_uses',
  text: `insert into used_assertions as used (digest, client_id, kept_until, use_id)
    select digest, client_id, $3::bigint + seconds, $2
      from pg_catalog.json_to_recordset($1::json) as given (digest text, client_id text, seconds bigint) order by digest
    on conflict (digest) do update
      set client_id = excluded.client_id, kept_until = excluded.kept_until, use_id = excluded.use_id
      where used.kept_until <= ${endedAt('$3')} or used.use_id = excluded.use_id
    returning digest`,
} as const;

/**
 * Deletes uses that have ended, at most $1, and returns how many. $2 is the time of this replica. Rows that another
 * replica deletes are left to it.
 */
export const DELETE_ENDED = {
  text: `with ended as (
      select digest from used_assertions where kept_until <= ${endedAt('$2')}
        limit $1::int for update skip locked),
    deleted as (delete from used_assertions using ended where used_assertions.digest = ended.digest returning 1)
    select pg_catalog.count(*)::text as "deleted" from deleted`,
} as const;

/**
 * The number of all uses, and of those of each client that has at least $1. Reads the whole table: a million uses take about a third of a
 * second.
 */
export const COUNT_USES = {
  text: `select client_id as "clientId", pg_catalog.count(*)::text as "uses" from used_assertions
    group by grouping sets ((), (client_id)) having client_id is null or pg_catalog.count(*) >= $1::bigint`,
} as const;
