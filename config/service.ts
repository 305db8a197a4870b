import type { RunningServer } from '../adapters/http/server/running-server.ts';
import { openFilesProblem } from '../adapters/system/open-files.ts';
import { isWritableByOthers, readTextFile } from '../adapters/system/read-text-file.ts';
import { failure, type Result, success } from '../domain/result.ts';
import { startPrimary } from './compose-primary.ts';
import { buildContainer, type Override } from './container.ts';
import { type Configuration, loadConfiguration } from './settings/configuration.ts';
import { openFilesPlan } from './settings/open-files-plan.ts';
import type { Environment } from './settings/read-environment.ts';
import { startProcess } from './start-process.ts';

/** Starts the service in one process or several. Fails with every problem of the settings before a port is open; rejects as below. */
export async function startFromEnvironment(
  environment: Environment,
): Promise<Result<RunningServer, readonly string[]>> {
  const files = new Map<string, string | undefined>();
  const configuration = loadConfiguration(environment, (path) => files.set(path, readTextFile(path)).get(path));
  const problems = configuration.ok ? [] : [...configuration.problem];
  for (const name of ['KEY_FILE', 'CLIENT_ASSERTION_ISSUERS_FILE']) {
    if (isWritableByOthers(environment[name] ?? '')) problems.push(`${name}: must be writable only by its owner`);
  }
  const openFiles = configuration.ok ? openFilesProblem(openFilesPlan(configuration.value.settings)) : undefined;
  if (openFiles !== undefined) problems.push(openFiles);
  if (!configuration.ok || problems.length > 0) return failure(problems);
  const { value } = configuration;
  return success(await (value.settings.WORKERS === 1 ? startService(value) : startPrimary(value, files, environment)));
}

/**
 * Starts the service in one process and resolves when it listens. Rejects, with nothing left open, where a port is not
 * available or the table of the clients cannot be used.
 */
export async function startService(configuration: Configuration, override?: Override): Promise<RunningServer> {
  return startProcess(await buildContainer(configuration, 'single', override), configuration.settings, 'single');
}
