import { runKeys } from '../../adapters/cli/keys-program/run-keys.ts';
import { Terminal } from '../../adapters/cli/terminal.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { revocationEvents } from '../../application/keys-program/revocation-events.ts';
import { RecordChanges } from '../../application/record-changes.ts';
import { success } from '../../domain/result.ts';
import { openProgramAudit, type ProgramStreams } from '../open-program-audit.ts';
import { databaseUrlOf } from '../settings/program-database.ts';
import type { Environment } from '../settings/read-environment.ts';
import { npmHint } from '../settings/setting-doubts.ts';

/** The program of `npm run keys`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function manageKeys(
  args: readonly string[],
  streams: ProgramStreams,
  environment: Environment,
): Promise<number> {
  /** The URL comes from the environment: every user of the machine can see arguments. */
  async function open() {
    const url = databaseUrlOf(environment, readTextFile);
    if (!url.ok) return url;
    const audit = await openProgramAudit(environment, streams.stderr);
    if (!audit.ok) return audit;
    // Loaded here, since the ORM takes longer to load than everything else. Help pages do not need it.
    const { PostgresKeyRecords } = await import('../../adapters/postgres/keys-program/postgres-key-records.ts');
    const warn = (message: string) => new Terminal(streams).say([message]);
    return success(await PostgresKeyRecords.open(url.value, new RecordChanges(audit.value, revocationEvents), warn));
  }

  const hint = npmHint('keys', ['json'], environment);
  if (hint !== undefined) new Terminal(streams).say([hint]);
  return runKeys(args, streams, { open, version: programVersion() });
}
