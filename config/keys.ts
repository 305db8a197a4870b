import { runKeys } from '../adapters/cli/run-keys.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { readTextFile } from '../adapters/system/read-text-file.ts';
import { RecordKeyChanges } from '../application/keys/record-key-changes.ts';
import { success } from '../domain/result.ts';
import { openProgramAudit } from './open-program-audit.ts';
import { databaseUrlOf } from './settings/database-url.ts';

/** `npm run keys`: shows and revokes the keys of the shared key directory. */
process.exitCode = await runKeys(process.argv.slice(2), process, { open, version: programVersion() });

/** The URL comes from the environment: every user of the machine can see arguments. */
async function open() {
  const url = databaseUrlOf(process.env, readTextFile);
  if (!url.ok) return url;
  const audit = openProgramAudit(process.env);
  if (!audit.ok) return audit;
  // Loaded here, since the ORM takes longer to load than everything else. Help pages do not need it.
  const { PostgresKeyRecords } = await import('../adapters/postgres/postgres-key-records.ts');
  return success(await PostgresKeyRecords.open(url.value, new RecordKeyChanges(audit.value)));
}
