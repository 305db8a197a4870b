import { createJsonLog } from '../adapters/pino/json-log.ts';
import { SystemClock } from '../adapters/system/system.ts';
import { success } from '../domain/result.ts';
import { startResourceServer } from './compose-locations.ts';
import { run } from './run.ts';
import { readLocationsSettings } from './settings/locations-settings.ts';

await run('The resource server', async () => {
  const settings = readLocationsSettings(process.env);
  return settings.ok
    ? success(await startResourceServer(settings.value, new SystemClock(), createJsonLog()))
    : settings;
});
