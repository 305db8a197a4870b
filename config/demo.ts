import { fileURLToPath } from 'node:url';
import { holdLines, shortLine } from '../adapters/log/hold-lines.ts';
import { writeForPeople } from '../adapters/system/write-for-people.ts';
import { DEMO_PAGE } from './help-pages.ts';
import { PARTS } from './parts.ts';
import { run } from './run.ts';
import { startFromEnvironment } from './service.ts';

const environment = {
  MANAGEMENT_PORT: '0',
  WORKERS: '1',
  ...process.env,
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: fileURLToPath(new URL('demo/clients.json', import.meta.url)),
};
let releaseLog = () => {};
const service = await run(
  DEMO_PAGE,
  (stopRequested) =>
    startFromEnvironment(environment, stopRequested, (parts) => {
      // What people see first is what they can paste. At a terminal, short lines keep it in sight.
      releaseLog = holdLines(parts.resolve(PARTS.logDestination), process.stdout.isTTY ? shortLine : undefined);
    }),
  // Its terminal was closed: nobody would stop it.
  'stop',
);

if (service !== undefined) {
  const baseUrl = `http://${service.host}:${service.port}`;
  const tokenRequest = `curl -sS ${baseUrl}/oauth2/token -d grant_type=client_credentials -d client_id=demo-client -d client_secret=demo-secret`;
  writeForPeople(
    process.stdout,
    `
The authorization service listens on ${baseUrl}

A token:
  ${tokenRequest}

A location, read with a token:
  curl -sS -H "Authorization: Bearer $(${tokenRequest} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')" ${baseUrl}/v1/locations/NYC_USA

Stop it with Ctrl-C.

`,
  );
}

releaseLog();
