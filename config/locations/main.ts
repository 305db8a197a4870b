import { createJsonLog } from '../../adapters/pino/json-log.ts';
import { SystemClock } from '../../adapters/system/system.ts';
import { complainOfStart } from '../complain-of-start.ts';
import { readLocationsSettings } from '../settings/locations-settings.ts';
import { startResourceServer } from './resource-server.ts';

// Runs until SIGTERM or SIGINT. Reports every problem of its settings on standard error before any port is opened.
const settings = readLocationsSettings(process.env);

if (!settings.ok) {
  complainOfStart('The resource server', settings.problem);
} else {
  try {
    const server = await startResourceServer(settings.value, new SystemClock(), createJsonLog());
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void server.stop('immediate'));
  } catch (error) {
    complainOfStart('The resource server', [error instanceof Error ? error.message : 'unknown fault']);
  }
}
