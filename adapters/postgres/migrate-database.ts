import { Migrator } from '@mikro-orm/migrations';
import { CLIENTS } from './client-entity.ts';
import { openConnection } from './connection.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { storeFault } from './store-fault.ts';

/** How long a statement may take, and how long to wait for another migration that runs. Milliseconds. */
const DEADLINE_MS = 60_000;

/** One connection has the lock while the other migrates. */
const POOL_SIZE = 2;

/** Any number that nothing else in this database uses. */
const ADVISORY_LOCK = 7_264_019_538;

/** Where the database remembers what was done. */
const HISTORY_TABLE = 'client_credentials_migrations';

/**
 * Runs the migrations that this database lacks, each in a transaction of its own, and returns their names. Of several that
 * run at once, one does the work, and the others wait for it. Throws DependencyUnavailable if the database cannot be used.
 */
export async function migrateDatabase(url: string): Promise<readonly string[]> {
  const options = { url, poolSize: POOL_SIZE, deadlineMs: DEADLINE_MS, ormOptions: ORM_OPTIONS };
  const connection = await openConnection(options, CLIENTS.schema);
  try {
    const lock = await connection.pool.connect();
    try {
      await lock.query('select pg_advisory_lock($1)', [ADVISORY_LOCK]);
      return await connection.migrate();
    } finally {
      // The end of its session releases the lock.
      lock.release(true);
    }
  } catch (fault) {
    throw storeFault(fault);
  } finally {
    await connection.close();
  }
}

const ORM_OPTIONS = {
  extensions: [Migrator],
  migrations: {
    tableName: HISTORY_TABLE,
    migrationsList: MIGRATIONS,
    allOrNothing: false,
    snapshot: false,
    silent: true,
    // Only a superuser may switch foreign keys off, and nothing here needs it.
    disableForeignKeys: false,
  },
};
