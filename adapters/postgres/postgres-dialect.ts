import { sql } from 'kysely';
import type { SqlDialect } from '../sql/sql-database.ts';

/** With fractions. */
const EXACT_NOW = 'extract(epoch from pg_catalog.clock_timestamp())';

/** The time of the database in seconds since the epoch. */
export const NOW = `pg_catalog.floor(${EXACT_NOW})::bigint`;

/** How PostgreSQL speaks. */
export const POSTGRES: SqlDialect = {
  clientId: sql`client_id collate "C"`,
  locksRows: true,
  document: sql`jsonb`,
  elementsOf: (array) => sql`pg_catalog.json_array_elements(${array}::json)`,
  owner: sql`details ->> 'owner'::text`,
  count: sql`pg_catalog.count(*)`,
  now: sql.raw(NOW),
  exactNow: sql.raw(EXACT_NOW),
};
