import './thread-pool-size.ts';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOOPBACK } from '../adapters/http-client/health-probe.ts';
import { openLogLines } from '../adapters/log/json-log.ts';
import { shortLine } from '../adapters/log/short-line.ts';
import { bcryptEncoder } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import { randomSecret } from '../adapters/system/system.ts';
import { writeForPeople } from '../adapters/system/write-for-people.ts';
import { DependencyUnavailable } from '../application/ports/dependency-unavailable.ts';
import { failure } from '../domain/result.ts';
import { DEMO_PAGE } from './help-pages.ts';
import { PARTS } from './parts.ts';
import { createHashing } from './pool-work.ts';
import { run } from './run.ts';
import { startFromEnvironment } from './service.ts';
import { readEnvironment } from './settings/read-environment.ts';
import { CORE_GROUPS } from './settings/settings.ts';

const inMemory = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: fileURLToPath(new URL('demo/clients.json', import.meta.url)),
};
const { listening } = CORE_GROUPS;
const OWN_CLIENTS = 'the demo has clients of its own: leave it out, or use npm start';
const KEPT_BY_NPM = 'npm has kept --keep for itself: write two dashes before it, npm run demo -- --keep';
// What people see first is what they can paste. At a terminal, short lines keep it in sight.
const log = openLogLines({ isHeld: true, ...(process.stdout.isTTY && { edit: shortLine }) });
let kept: Awaited<ReturnType<typeof keepClients>> | undefined;
const service = await run(
  DEMO_PAGE,
  async () => {
    const isKept = process.argv.includes('--keep');
    // In memory, clients would be lost that were to be kept.
    if (!isKept && process.env['npm_config_keep']) return failure([KEPT_BY_NPM]);
    // Also finds typos of what the demo sets below.
    const read = readEnvironment(
      {
        rows: { MANAGEMENT_PORT: listening.rows.MANAGEMENT_PORT },
        contradictions: {
          [`CLIENT_REPOSITORY: ${OWN_CLIENTS}`]: (given) => given['CLIENT_REPOSITORY'],
          [`CLIENTS_FILE: ${OWN_CLIENTS}`]: (given) => given['CLIENTS_FILE'],
          'DATABASE_FILE: is used only with npm run demo -- --keep, or npm start': (given) =>
            !isKept && given['DATABASE_FILE'],
        },
      },
      [],
      process.env,
    );
    if (!read.ok) return read;
    if (isKept) kept = await keepClients(process.env['DATABASE_FILE'] || undefined);
    const own = kept === undefined ? inMemory : { CLIENT_REPOSITORY: 'sqlite', DATABASE_FILE: kept.path };
    const MANAGEMENT_PORT = process.env['MANAGEMENT_PORT'] || '0';
    // The profile for common clients serves none, and the text below shows a request to it.
    const EXAMPLE_RESOURCE = process.env['EXAMPLE_RESOURCE'] || 'true';
    const environment = { ...process.env, MANAGEMENT_PORT, EXAMPLE_RESOURCE, ...own };
    return startFromEnvironment(environment, (parts) => {
      parts.registerInstance(PARTS.logDestination, log);
    });
  },
  // Its terminal was closed: nobody would stop it.
  'stop',
);

if (service !== undefined) {
  // On all addresses, as in a container, it is reached under a name that only its operator knows.
  const baseUrl = Object.hasOwn(LOOPBACK, service.host)
    ? process.env['BASE_URL'] || `http://localhost:${service.port}`
    : `http://${service.host}:${service.port}`;
  const secret = kept === undefined ? 'demo-secret' : (kept.secret ?? '$SECRET');
  const tokenRequest = `curl -sS ${baseUrl}/oauth2/token -d grant_type=client_credentials -d client_id=demo-client -d client_secret=${secret}`;
  writeForPeople(
    process.stdout,
    `
The authorization service listens on ${baseUrl}
${kept === undefined ? '' : aboutKept(kept)}
A token:
  ${tokenRequest}

A location, read with a token:
  curl -sS -H "Authorization: Bearer $(${tokenRequest} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')" ${baseUrl}/v1/locations/NYC_USA

Stop it with Ctrl-C.

`,
  );
}

log.release();

/**
 * Creates the file with its folder and a client, unless there is one; `secret` is undefined then. Throws an error that says why
 * it cannot be used.
 */
async function keepClients(file = 'ccauth-demo/clients.db') {
  const path = resolve(file);
  const secret = randomSecret();
  const client = {
    clientId: 'demo-client',
    clientSecret: await bcryptEncoder(createHashing().run)(secret, 10),
    clientName: 'Client of the demo',
    scope: 'locations.read locations.write',
  };
  const { storeFirstClients } = await import('../adapters/sqlite/store-first-clients.ts');
  try {
    return { path, secret: storeFirstClients(path, [client]) ? secret : undefined };
  } catch (fault) {
    throw fault instanceof DependencyUnavailable ? fault.cause : fault;
  }
}

function aboutKept({ path, secret }: NonNullable<typeof kept>): string {
  const about =
    secret === undefined
      ? `The commands below need the secret of demo-client, which was printed when the file was created:
  export SECRET=…
This makes another one:
  DATABASE_FILE=${path} npm run clients -- rotate demo-client`
      : 'The secret of demo-client is in the commands below. It is stored as a BCrypt hash, and will not be printed again.';
  return `
Its clients are kept in ${path}
${about}
`;
}
