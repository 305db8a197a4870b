import type { PoolClient } from 'pg';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { CLIENTS } from './client-entity.ts';
import { openConnection, type Warn } from './connection.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { type FoundTable, findTable } from './search-path.ts';
import { warnOfSchemas } from './shared-schemas.ts';
import { storeFault } from './store-fault.ts';

/** How long a statement may take; half of it to wait for another migration that runs. Milliseconds. */
const DEADLINE_MS = 60_000;

/** Any number that nothing else in this database uses. Each statement behind the lock sees what was committed before. */
const BEGIN_ALONE = `begin isolation level read committed;
  select pg_catalog.pg_advisory_xact_lock(7264019538::bigint)`;

/** Where the database remembers what was done. */
const HISTORY = 'client_credentials_migrations';

/** As the migrator of MikroORM created it for earlier versions. */
const CREATE_HISTORY = `create table $schema.${HISTORY} (
  id serial primary key, name varchar(255) not null, executed_at timestamptz(6) not null default current_timestamp(6))`;

/**
 * Runs the migrations that this database lacks, and creates the tables of earlier ones that were dropped, all in one transaction.
 * Returns what was done. Of several that run at
 * once, one does the work, and the others wait for it. Throws DependencyUnavailable if the database cannot be used, and if
 * the history belongs to a role whose triggers would run with the rights of this one.
 *
 * @param warn takes what is wrong with the schemas, before anything is written.
 */
export async function migrateDatabase(url: string, warn?: Warn): Promise<readonly string[]> {
  // The second one looks at the schemas.
  const connection = await openConnection({ url, poolSize: 2, deadlineMs: DEADLINE_MS, warn }, CLIENTS.schema);
  try {
    const client = await connection.pool.connect();
    try {
      await client.query(BEGIN_ALONE);
      const { rows } = await client.query<FoundTable>(findTable(HISTORY));
      // After the look: a table that is planted now is not found, and cannot be created.
      const risks = await warnOfSchemas(connection);
      const planted = risks.find(({ line }) => 'by' in line && line.by === `ownership of ${HISTORY}`);
      if (planted) throw new DependencyUnavailable('client store', new Error(`${planted.text}: ${planted.cure}`));
      if (!rows[0]?.exists) await client.query(CREATE_HISTORY);
      const history = await client.query<{ readonly name: string }>(`select name from $schema.${HISTORY}`);
      const recorded = new Set(history.rows.map(({ name }) => name));
      const dropped = await findDropped(client, recorded);
      const done: string[] = [];
      for (const { name, tables } of MIGRATIONS) {
        for (const [table, statements] of Object.entries(tables)) {
          if (recorded.has(name) && !dropped.includes(table)) continue;
          for (const statement of statements) await client.query(statement);
          if (recorded.has(name)) done.push(`${name}: ${table}, which was missing`);
        }
        if (recorded.has(name)) continue;
        await client.query(`insert into $schema.${HISTORY} (name) values ($1)`, [name]);
        done.push(name);
      }
      await client.query('commit');
      return done;
    } finally {
      // The end of its session ends the transaction too.
      client.release(true);
    }
  } catch (fault) {
    throw storeFault(fault);
  } finally {
    await connection.close();
  }
}

/** The tables that the recorded migrations have created, and that are not there any more. */
async function findDropped(client: PoolClient, recorded: ReadonlySet<string>): Promise<readonly string[]> {
  const created = MIGRATIONS.filter(({ name }) => recorded.has(name)).flatMap(({ tables }) => Object.keys(tables));
  const dropped: string[] = [];
  for (const table of new Set(created)) {
    const { rows } = await client.query<FoundTable>(findTable(table));
    if (!rows[0]?.exists) dropped.push(table);
  }
  return dropped;
}
