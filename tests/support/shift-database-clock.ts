import type { TestDatabase } from './test-database.ts';

const OWN = "language internal volatile strict parallel safe as 'clock_timestamp'";

/**
 * Sets the clock of a database ahead, or behind, by so many seconds, as its statements see it; 0 sets it right. The
 * server's own function is replaced in this database only. A plan that a connection keeps for a prepared statement may
 * contain the old one, so each table is changed by a setting that means nothing, for which its statements are planned
 * again.
 */
export async function shiftDatabaseClock({ query }: Pick<TestDatabase, 'query'>, seconds: number): Promise<void> {
  const shifted = `language sql volatile as 'select pg_catalog.statement_timestamp() + interval ''${seconds} seconds'''`;
  const body = seconds === 0 ? OWN : shifted;
  await query(`create or replace function pg_catalog.clock_timestamp() returns timestamptz ${body}`);
  for (const table of await query(
    `select format('%I', tablename) as name from pg_tables where schemaname = current_schema()`,
  )) {
    await query(`alter table ${table['name']} set (fillfactor = 100)`);
  }
  const [row] = await query(
    'select round(extract(epoch from clock_timestamp() - statement_timestamp()))::int as ahead',
  );
  if (row?.['ahead'] !== seconds) throw new Error(`the clock of the database is ${row?.['ahead']} s ahead`);
}
