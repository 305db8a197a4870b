/** The time of the database as an SQL expression, in seconds since 1970, with fractions. It goes on while a transaction waits for a lock. */
export const EXACT_NOW = 'extract(epoch from pg_catalog.clock_timestamp())';

/** The same in whole seconds. */
export const NOW = `pg_catalog.floor(${EXACT_NOW})::bigint`;

/** The start of the statement, in whole seconds: it is one for all rows, so an index on a time can serve the comparison. */
export const STATEMENT_START = 'pg_catalog.floor(extract(epoch from pg_catalog.statement_timestamp()))::bigint';
