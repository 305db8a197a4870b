import { runClients } from '../adapters/cli/clients-program/run-clients.ts';
import { streamClientsFile } from '../adapters/files/clients-file.ts';
import { BcryptSecretEncoder } from '../adapters/secrets/bcrypt-secret-encoder.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { RandomSecretGenerator } from '../adapters/system/random-secret-generator.ts';
import { readTextFile } from '../adapters/system/read-text-file.ts';
import { RandomIdGenerator, SystemClock } from '../adapters/system/system.ts';
import { createClientManagement } from '../application/clients-program/client-management.ts';
import { RecordClientChanges } from '../application/clients-program/record-client-changes.ts';
import { success } from '../domain/result.ts';
import { openProgramAudit } from './open-program-audit.ts';
import type { ProgramStreams } from './program-streams.ts';
import { databaseUrlOf } from './settings/database-url.ts';
import type { Environment } from './settings/read-environment.ts';
import { readRuleCheck } from './settings/rule-check.ts';

/** The program of `npm run clients`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function manageClients(
  args: readonly string[],
  streams: ProgramStreams,
  environment: Environment,
): Promise<number> {
  const encoder = new BcryptSecretEncoder();
  const clock = new SystemClock();

  /** Loaded here, since only one command needs the settings of the service. */
  async function openExplain() {
    return (await import('./open-explain.ts')).openExplain(environment);
  }

  /** The URL comes from the environment: every user of the machine can see arguments. */
  async function open() {
    const url = databaseUrlOf(environment, readTextFile);
    if (!url.ok) return url;
    const checkRule = readRuleCheck(environment, readTextFile);
    if (!checkRule.ok) return checkRule;
    const audit = openProgramAudit(environment, streams.stderr);
    if (!audit.ok) return audit;
    // Loaded here, since the ORM takes longer to load than everything else. Help pages and `hash` do not need it.
    const { PostgresClientStore } = await import('../adapters/postgres/clients-program/postgres-client-store.ts');
    const store = await PostgresClientStore.open(url.value, new RecordClientChanges(audit.value));
    const sources = { clock, generator: new RandomSecretGenerator(), ids: new RandomIdGenerator() };
    const parts = { store, encoder, checkRule: checkRule.value, ...sources };
    return success({ ...createClientManagement(parts), close: () => store.close() });
  }

  return runClients(args, streams, { open, openExplain, encoder, clock, streamClientsFile, version: programVersion() });
}
