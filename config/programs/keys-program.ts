import { runKeys } from '../../adapters/cli/keys-program/run-keys.ts';
import { Terminal } from '../../adapters/cli/terminal.ts';
import { secretIdOf } from '../../adapters/jwt/jose-key-sealer.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { keyChangeEvents } from '../../application/keys-program/key-change-events.ts';
import { RecordChanges } from '../../application/record-changes.ts';
import { success } from '../../domain/result.ts';
import { databaseOf } from '../settings/program-database.ts';
import type { Environment } from '../settings/read-environment.ts';
import { npmHint } from '../settings/setting-warnings.ts';
import { openProgramAudit, type ProgramStreams } from './open-program-audit.ts';

/** The program of `npm run keys`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function manageKeys(
  args: readonly string[],
  streams: ProgramStreams,
  environment: Environment,
): Promise<number> {
  /** The URL comes from the environment: every user of the machine can see arguments. */
  async function open() {
    const database = databaseOf(environment, readTextFile);
    if (!database.ok) return database;
    const audit = await openProgramAudit(environment, streams.stderr);
    if (!audit.ok) return audit;
    const recorder = new RecordChanges(audit.value, keyChangeEvents);
    if (database.value.file !== undefined) {
      const { keyRingFileOf, SqliteKeyRing } = await import('../../adapters/sqlite/key-directory/sqlite-key-ring.ts');
      return success(SqliteKeyRing.open(keyRingFileOf(database.value.file), recorder));
    }
    // Loaded here, since the ORM takes longer to load than everything else. Help pages do not need it.
    const { PostgresKeyRingRecords } = await import(
      '../../adapters/postgres/keys-program/postgres-key-ring-records.ts'
    );
    const warn = (message: string) => new Terminal(streams).say([message]);
    return success(await PostgresKeyRingRecords.open(database.value.url, recorder, warn));
  }

  const hint = npmHint('keys', ['json'], environment);
  if (hint !== undefined) new Terminal(streams).say([hint]);
  return runKeys(args, streams, { open, secretIdOf, version: programVersion() });
}
