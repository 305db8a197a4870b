import type { RunningServer } from '../adapters/http/server/running-server.ts';
import { auditFileProblem } from '../adapters/log/audit-file.ts';
import { namePortProblem } from '../adapters/system/listen-problem.ts';
import { openFilesProblem } from '../adapters/system/open-files.ts';
import { ownersProblems, readTextFile } from '../adapters/system/read-text-file.ts';
import type { Problem } from '../domain/problem.ts';
import { failure, type Result } from '../domain/result.ts';
import { buildService, type Given } from './build.ts';
import { listeningPlaces, openFilesPlan } from './settings/derived-values.ts';
import { loadConfiguration } from './settings/load-configuration.ts';
import type { Environment } from './settings/read-environment.ts';
import { OWNERS_FILES } from './settings/settings.ts';
import { startProcess } from './start-process.ts';

/**
 * Starts the service, and resolves when it listens. Fails with every problem of the settings before a port is open.
 * Rejects, with nothing left open, where a port is not available or the table of the clients cannot be used.
 */
export async function startFromEnvironment(
  environment: Environment,
  given?: Given,
): Promise<Result<RunningServer, readonly Problem[]>> {
  const configuration = loadConfiguration(environment, (path) => readTextFile(path));
  const problems = [...(configuration.ok ? [] : configuration.problem), ...ownersProblems(OWNERS_FILES, environment)];
  if (configuration.ok) {
    const { settings } = configuration.value;
    if (settings.AUDIT_FILE !== undefined) problems.push(...auditFileProblem(settings.AUDIT_FILE));
    const openFiles = openFilesProblem(openFilesPlan(settings));
    if (openFiles !== undefined) problems.push(openFiles);
  }
  if (!configuration.ok || problems.length > 0) return failure(problems);
  const { value } = configuration;
  const { settings } = value;
  return namePortProblem(listeningPlaces(settings), async () => {
    return startProcess(await buildService(value, given), settings, environment);
  });
}
