import { runClients } from '../../adapters/cli/clients-program/run-clients.ts';
import { explainCommand } from '../../adapters/cli/federated-jwt/explain-command.ts';
import type { Input } from '../../adapters/cli/read-secret.ts';
import { Terminal } from '../../adapters/cli/terminal.ts';
import { formatClient, readClientEntries } from '../../adapters/files/clients-file.ts';
import { bcryptEncoder, bcryptMatcher } from '../../adapters/secrets/bcrypt-secret-verifier.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { secretFiles } from '../../adapters/system/secret-files.ts';
import { RandomIdGenerator, randomSecret, SystemClock } from '../../adapters/system/system.ts';
import { clientChangeEvents } from '../../application/clients-program/client-change-events.ts';
import { createClientManagement } from '../../application/clients-program/client-management.ts';
import { RecordChanges } from '../../application/record-changes.ts';
import { failure, success } from '../../domain/result.ts';
import { createHashing } from '../pool-work.ts';
import { databaseOf } from '../settings/program-database.ts';
import type { Environment } from '../settings/read-environment.ts';
import { secretSources, secretTargets } from '../settings/secret-sources.ts';
import { openPrograms } from '../storages.ts';
import { dryRunKeptByNpm } from './npm-dry-run.ts';
import { openProgramAudit, type ProgramStreams } from './open-program-audit.ts';
import { readRuleCheck } from './rule-check.ts';

/** `npm run clients`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function manageClients(
  args: readonly string[],
  streams: ProgramStreams,
  environment: Environment,
): Promise<number> {
  const terminal = new Terminal(streams);
  const clock = new SystemClock();
  const hashing = createHashing();
  const encodeSecret = bcryptEncoder(hashing.run);

  async function open() {
    const kept = dryRunKeptByNpm('clients', args, environment);
    if (kept !== undefined) return failure(kept);
    const checkRule = readRuleCheck(environment, readTextFile);
    if (!checkRule.ok) return checkRule;
    const audit = openProgramAudit(environment, streams.stderr);
    if (!audit.ok) return audit;
    const database = databaseOf(environment, readTextFile);
    if (!database.ok) return database;
    const { openClients } = await openPrograms(database.value);
    const recorder = new RecordChanges(audit.value, clientChangeEvents);
    const clients = await openClients(database.value);
    const sources = { clock, generateSecret: randomSecret, ids: new RandomIdGenerator() };
    const hashes = { encodeSecret, matchSecret: bcryptMatcher(hashing.run), secretFiles };
    const parts = { ...clients.with(recorder), ...hashes, checkRule: checkRule.value, ...sources };
    return success({ ...createClientManagement(parts), close: () => clients.close() });
  }

  // Loaded when it runs, since only this command needs the settings of the service.
  const openExplanation = async () => (await import('./open-explain.ts')).openExplain(environment);
  const more = (program: string, stdin: Input) => [explainCommand(openExplanation, program, stdin)];
  const scope = /^--scope(?:=|\n)(.*,.*)$/m.exec(args.join('\n'));
  if (scope !== null) terminal.say(['A comma is part of a scope: separate scopes by spaces.']);
  return runClients(args, streams, {
    open,
    more,
    encodeSecret,
    clock,
    readClientsFile: (bytes, format) =>
      readClientEntries(bytes, format, {
        plain: 'accepted',
        read: secretSources(environment, readTextFile),
      }),
    openApplied: (allowed, options) => (bytes, format) =>
      readClientEntries(bytes, format, {
        plain: 'refused',
        short: options.allowShortSecret ? 'accepted' : 'refused',
        generate: secretTargets(allowed),
        read: secretSources(environment, readTextFile, allowed),
      }),
    formatClient,
    version: programVersion(),
  });
}
