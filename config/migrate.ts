import { runMigrate } from '../adapters/cli/run-migrate.ts';
import { Terminal } from '../adapters/cli/terminal.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { readTextFile } from '../adapters/system/read-text-file.ts';
import { success } from '../domain/result.ts';
import { databaseUrlOf } from './settings/database-url.ts';

/** `npm run migrate`: creates and changes the service's own tables. */
process.exitCode = await runMigrate(process.argv.slice(2), process, { migrate, version: programVersion() });

/** The URL comes from the environment: every user of the machine can see arguments. */
async function migrate() {
  const url = databaseUrlOf(process.env, readTextFile);
  if (!url.ok) return url;
  // Loaded here, since the ORM takes longer to load than everything else. The help page does not need it.
  const { migrateDatabase } = await import('../adapters/postgres/migrate-database.ts');
  return success(await migrateDatabase(url.value, (message) => new Terminal(process).say([message])));
}
