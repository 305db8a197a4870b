import { readFileSync } from 'node:fs';
import type { RunningServer } from '../adapters/http/server/running-server.ts';
import { complainOfStart } from './complain-of-start.ts';
import { startPrimary } from './compose-primary.ts';
import { startService } from './service.ts';
import { loadConfiguration } from './settings/configuration.ts';
import type { Environment } from './settings/read-environment.ts';

const MODE_OF_SIGNAL = [
  ['SIGTERM', 'planned'],
  ['SIGINT', 'immediate'],
] as const;

/**
 * Runs the service in this process until SIGTERM, or SIGINT, which does without the grace time. Where it cannot start, says every reason on standard error
 * and sets a non-zero exit code. Where it is a setting, no port was opened.
 */
export async function run(environment: Environment): Promise<RunningServer | undefined> {
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
  const { value } = configuration;
  const starting = value.settings.WORKERS === 1 ? startService(value) : startPrimary(value, files, environment);
  // One that comes while the service starts counts too.
  for (const [signal, mode] of MODE_OF_SIGNAL) {
    process.once(signal, () => void starting.then((service) => service.stop(mode)).catch(() => {}));
  }
  try {
    return await starting;
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
