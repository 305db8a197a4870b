/** With fractions. */
const EXACT_NOW = 'extract(epoch from pg_catalog.clock_timestamp())';

/** The time of the database in seconds since 1970, as SQL expressions. It goes on while a transaction waits for a lock. */
export const DATABASE_TIME = { now: `pg_catalog.floor(${EXACT_NOW})::bigint`, exactNow: EXACT_NOW };
