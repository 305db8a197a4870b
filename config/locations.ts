import './thread-pool-size.ts';
import { createJsonLog, openLogLines } from '../adapters/log/json-log.ts';
import { namePortProblem } from '../adapters/system/listen-problem.ts';
import { SystemClock } from '../adapters/system/system.ts';
import { LOCATIONS_PAGE, readLocationsSettings } from './programs/locations-settings.ts';
import { startResourceServer } from './programs/start-resource-server.ts';
import { run } from './run.ts';

await run(LOCATIONS_PAGE, async () => {
  const settings = readLocationsSettings(process.env);
  if (!settings.ok) return settings;
  const { HOST: host, PORT: port } = settings.value;
  return namePortProblem([{ portSetting: 'PORT', hostSetting: 'HOST', host, port }], () =>
    startResourceServer(settings.value, new SystemClock(), createJsonLog(openLogLines())),
  );
});
