import './thread-pool-size.ts';
import { fileURLToPath } from 'node:url';
import { LOOPBACK } from '../adapters/http-client/health-probe.ts';
import { openLogLines } from '../adapters/log/json-log.ts';
import { shortLine } from '../adapters/log/short-line.ts';
import { writeForPeople } from '../adapters/system/write-for-people.ts';
import { linesTo } from './lines-to.ts';
import { DEMO_PAGE } from './programs/help-pages.ts';
import { run } from './run.ts';
import { startFromEnvironment } from './service.ts';
import { readEnvironment } from './settings/read-environment.ts';
import { refuse } from './settings/rules.ts';
import { CORE_GROUPS } from './settings/settings.ts';

const inMemory = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: fileURLToPath(new URL('demo/clients.json', import.meta.url)),
};
const { listening } = CORE_GROUPS;
// What people see first is what they can paste: the lines before it wait. At a terminal, short ones keep it in sight.
const output = openLogLines();
const isTerminal = process.stdout.isTTY;
const held: string[] = [];
let write = (line: string): unknown => held.push(line);
const log = linesTo((line) => {
  const shown = isTerminal ? shortLine(line) : line;
  if (shown !== '') write(shown);
});
const service = await run(
  DEMO_PAGE,
  async () => {
    // Also finds typos of what the demo sets below.
    const read = readEnvironment(
      {
        rows: { MANAGEMENT_PORT: listening.rows.MANAGEMENT_PORT },
        rules: (given) =>
          ['CLIENT_REPOSITORY', 'CLIENTS_FILE', 'DATABASE_FILE'].flatMap((name) =>
            refuse(given[name], name, 'the demo has clients of its own', 'leave it out, or use npm start'),
          ),
      },
      [],
      process.env,
    );
    if (!read.ok) return read;
    const MANAGEMENT_PORT = process.env['MANAGEMENT_PORT'] || '0';
    // The profile for common clients serves none, and the text below shows a request to it.
    const EXAMPLE_RESOURCE = process.env['EXAMPLE_RESOURCE'] || 'true';
    const environment = { ...process.env, MANAGEMENT_PORT, EXAMPLE_RESOURCE, ...inMemory };
    return startFromEnvironment(environment, { lines: log });
  },
  // Its terminal was closed: nobody would stop it.
  'stop',
);

if (service !== undefined) {
  // On all addresses, as in a container, it is reached under a name that only its operator knows.
  const baseUrl = Object.hasOwn(LOOPBACK, service.host)
    ? process.env['BASE_URL'] || `http://localhost:${service.port}`
    : `http://${service.host}:${service.port}`;
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

write = (line) => output.write(line);
for (const line of held) write(line);
