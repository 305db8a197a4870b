import { runMigrate } from '../adapters/cli/run-migrate.ts';
import { Terminal, type TerminalStreams } from '../adapters/cli/terminal.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { readTextFile } from '../adapters/system/read-text-file.ts';
import { success } from '../domain/result.ts';
import { databaseUrlOf } from './settings/database-url.ts';
import type { Environment } from './settings/read-environment.ts';

/** The program of `npm run migrate`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function migrateTables(
  args: readonly string[],
  streams: TerminalStreams,
  environment: Environment,
): Promise<number> {
  /** The URL comes from the environment: every user of the machine can see arguments. */
  async function migrate() {
    const url = databaseUrlOf(environment, readTextFile);
    if (!url.ok) return url;
    // Loaded here, since the ORM takes longer to load than everything else. The help page does not need it.
    const { migrateDatabase } = await import('../adapters/postgres/migrate-database.ts');
    return success(await migrateDatabase(url.value, (message) => new Terminal(streams).say([message])));
  }
  return runMigrate(args, streams, { migrate, version: programVersion() });
}
