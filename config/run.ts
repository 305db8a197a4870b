import { readFileSync } from 'node:fs';
import { startPrimary } from './cluster/primary.ts';
import { complainOfStart } from './complain-of-start.ts';
import { loadConfiguration } from './configuration.ts';
import type { Environment } from './read-environment.ts';
import { type RunningService, startService } from './service.ts';

/**
 * Runs the service in this process until SIGTERM, or SIGINT, which does without the grace time. Where it cannot start, says every reason on standard error
 * and sets a non-zero exit code. Where it is a setting, no port was opened.
 */
export async function run(environment: Environment): Promise<RunningService | undefined> {
  const files = new Map<string, string | undefined>();
  const configuration = loadConfiguration(environment, (path) => {
    const text = readTextFile(path);
    files.set(path, text);
    return text;
  });
  if (!configuration.ok) {
    complainOfStart('The service', configuration.problem);
    return undefined;
  }
  try {
    const service =
      configuration.value.settings.WORKERS === 1
        ? await startService(configuration.value)
        : await startPrimary(configuration.value, files, environment);
    process.once('SIGTERM', () => void service.stop('planned'));
    process.once('SIGINT', () => void service.stop('at once'));
    return service;
  } catch (error) {
    complainOfStart('The service', [error instanceof Error ? error.message : 'unknown fault']);
    return undefined;
  }
}

function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
