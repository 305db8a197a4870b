import { type MigrateOptions, runMigrate } from '../../adapters/cli/run-migrate.ts';
import type { TerminalStreams } from '../../adapters/cli/terminal.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { failure } from '../../domain/result.ts';
import { databaseOf } from '../settings/program-database.ts';
import type { Environment } from '../settings/read-environment.ts';
import { openPrograms } from '../storages.ts';
import { dryRunKeptByNpm } from './npm-dry-run.ts';

/** `npm run migrate`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function migrateTables(
  args: readonly string[],
  streams: TerminalStreams,
  environment: Environment,
): Promise<number> {
  async function migrate(options: MigrateOptions) {
    const kept = dryRunKeptByNpm('migrate', args, environment);
    if (kept !== undefined) return failure(kept);
    const database = databaseOf(environment, readTextFile);
    if (!database.ok) return database;
    const programs = await openPrograms(database.value);
    return programs.migrate(database.value, options);
  }
  return runMigrate(args, streams, { migrate, version: programVersion() });
}
