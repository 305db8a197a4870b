import { runKeys } from '../../adapters/cli/keys-program/run-keys.ts';
import { secretIdOf } from '../../adapters/jwt/jose-key-sealer.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { keyChangeEvents } from '../../application/keys-program/key-change-events.ts';
import { RecordChanges } from '../../application/record-changes.ts';
import { success } from '../../domain/result.ts';
import { databaseOf } from '../settings/program-database.ts';
import type { Environment } from '../settings/read-environment.ts';
import { openPrograms } from '../storages.ts';
import { openProgramAudit, type ProgramStreams } from './open-program-audit.ts';

/** `npm run keys`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function manageKeys(
  args: readonly string[],
  streams: ProgramStreams,
  environment: Environment,
): Promise<number> {
  /** The URL comes from the environment: every user of the machine can see arguments. */
  async function open() {
    const database = databaseOf(environment, readTextFile);
    if (!database.ok) return database;
    const audit = openProgramAudit(environment, streams.stderr);
    if (!audit.ok) return audit;
    const { openKeyRing } = await openPrograms(database.value);
    const recorder = new RecordChanges(audit.value, keyChangeEvents);
    return success(await openKeyRing(database.value, recorder));
  }

  return runKeys(args, streams, { open, secretIdOf, version: programVersion() });
}
