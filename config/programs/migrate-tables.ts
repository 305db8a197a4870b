import { type MigrateOptions, runMigrate } from '../../adapters/cli/run-migrate.ts';
import { Terminal, type TerminalStreams } from '../../adapters/cli/terminal.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { failure, success } from '../../domain/result.ts';
import { databaseOf } from '../settings/program-database.ts';
import type { Environment } from '../settings/read-environment.ts';
import { dryRunKeptByNpm } from '../settings/setting-warnings.ts';

/** The program of `npm run migrate`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function migrateTables(
  args: readonly string[],
  streams: TerminalStreams,
  environment: Environment,
): Promise<number> {
  async function migrate({ grantTo, roleFor, dryRun }: MigrateOptions) {
    const kept = dryRunKeptByNpm('migrate', args, environment);
    if (kept !== undefined) return failure(kept);
    const database = databaseOf(environment, readTextFile);
    if (!database.ok) return database;
    if (database.value.file !== undefined) {
      if (grantTo !== undefined) return failure('--grant-to: a file has no roles; its owner and group decide.');
      const { migrateFile } = await import('../../adapters/sqlite/migrate-file.ts');
      return success({ done: migrateFile(database.value.file, dryRun), hasRoles: false });
    }
    // Loaded here, since they take longer to load than everything else. The help page does not need them.
    const { migrateDatabase } = await import('../../adapters/postgres/migrate-database.ts');
    const { KEY_RING } = await import('../../adapters/postgres/key-directory/key-ring-table.ts');
    const warn = (message: string) => new Terminal(streams).say([message]);
    const done = await migrateDatabase(database.value.url, { created: [KEY_RING], grantTo, roleFor, dryRun, warn });
    return success({ done, hasRoles: true });
  }
  return runMigrate(args, streams, { migrate, version: programVersion() });
}
