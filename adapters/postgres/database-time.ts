/** The time of the database as an SQL expression, in seconds since 1970, with fractions. It goes on while a transaction waits for a lock. */
export const EXACT_NOW = 'extract(epoch from pg_catalog.clock_timestamp())';

/** The same in whole seconds. */
export const NOW = `pg_catalog.floor(${EXACT_NOW})::bigint`;
