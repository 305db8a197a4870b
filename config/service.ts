import type { RunningServer } from '../adapters/http/server/running-server.ts';
import { namePortProblem } from '../adapters/system/listen-problem.ts';
import { ownersProblems, readTextFile } from '../adapters/system/read-text-file.ts';
import type { Problem } from '../domain/problem.ts';
import { failure, type Result } from '../domain/result.ts';
import { buildService, type Given } from './build.ts';
import { checksBeforeStart, problemsOf } from './checks.ts';
import { listeningPlaces } from './settings/derived-values.ts';
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
  if (!configuration.ok) return failure([...configuration.problem, ...ownersProblems(OWNERS_FILES, environment)]);
  const { value } = configuration;
  const { settings } = value;
  const found = checksBeforeStart(value, environment);
  const problems = problemsOf(found);
  if (problems.length > 0) return failure(problems);
  return namePortProblem(listeningPlaces(settings), async () => {
    return startProcess(await buildService(value, given), settings, found);
  });
}
