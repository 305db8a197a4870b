import { type Check, runDoctor } from '../../adapters/cli/doctor/run-doctor.ts';
import type { TerminalStreams } from '../../adapters/cli/terminal.ts';
import { KEY_SET_PATH, metadataPath, TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import { LIFECYCLE } from '../../adapters/http/server/running-server.ts';
import { STATUS_PAGE_PATH } from '../../adapters/http/status-page/status-page-routes.ts';
import { inspectBaseUrl } from '../../adapters/http-client/doctor/inspect-base-url.ts';
import { inspectIssuers } from '../../adapters/http-client/federated-jwt/inspect-issuers.ts';
import { askRunningService } from '../../adapters/http-client/management-port.ts';
import { inspectPorts } from '../../adapters/system/doctor/inspect-ports.ts';
import { inspectKeyFile } from '../../adapters/system/inspect-host.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { readTextFile } from '../../adapters/system/read-text-file.ts';
import { inspectCertificate } from '../../adapters/tls/server-certificate.ts';
import { inspectLifetimes } from '../../application/inspect-clients.ts';
import type { CheckState } from '../../application/ports/health-check.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { type Finding, fine, note, problem } from '../../domain/finding.ts';
import { checksBeforeStart } from '../checks.ts';
import type { Configuration } from '../settings/configuration.ts';
import { listeningPlaces } from '../settings/derived-values.ts';
import { invisibleEnd } from '../settings/invisible-ends.ts';
import { loadConfiguration } from '../settings/load-configuration.ts';
import type { Environment } from '../settings/read-environment.ts';
import type { Settings } from '../settings/settings.ts';
import { checkStores } from './check-stores.ts';

/** The program of `npm run doctor`, with the settings of this environment. Returns the exit code. Rejects only on a bug. */
export function inspectService(
  args: readonly string[],
  streams: TerminalStreams,
  environment: Environment,
): Promise<number> {
  return runDoctor(args, streams, { checks: () => checksOf(environment), version: programVersion() });
}

/**
 * What startup and `/readyz` check, and then the public URL, for the settings of an environment. If these have problems, nothing
 * else can be looked at.
 */
async function checksOf(environment: Environment): Promise<readonly Check[]> {
  const loaded = loadConfiguration(environment, readTextFile);
  if (!loaded.ok) {
    return [{ name: 'settings', run: () => loaded.problem.map(({ text, fix = RULES }) => problem(text, fix)) }];
  }
  const configuration = loaded.value;
  const { settings, issuers, certificate } = configuration;
  const { TLS_KEY_FILE: key = '' } = settings;
  const running = await askRunningService(settings.MANAGEMENT_HOST, settings.MANAGEMENT_PORT);
  const isRunning = running !== undefined;
  const before = checksBeforeStart(settings, environment);
  const optional = (name: string, isOn: boolean, run: Check['run']) => (isOn ? [{ name, run }] : []);
  return [
    { name: 'settings', run: () => [...describeSettings(configuration), ...before.settings] },
    { name: 'service', run: () => describeRunning(running, settings) },
    { name: 'ports', run: () => inspectPorts(listeningPlaces(settings), isRunning) },
    ...(['memory', 'open files', 'key file', 'key secret', 'audit file'] as const).flatMap((name) => {
      const found = before[name];
      return found === undefined ? [] : [{ name, run: () => found }];
    }),
    ...optional('database', settings.CLIENT_REPOSITORY !== 'memory', () => checkStores(configuration)),
    { name: 'status page', run: () => describeStatusPage(configuration) },
    ...optional('trusted issuers', issuers.length > 0, () => inspectIssuers(issuers)),
    ...(certificate === undefined
      ? []
      : [
          {
            name: 'tls certificate',
            run: () => [
              ...inspectCertificate(certificate, settings.BASE_URL, Date.now()),
              ...inspectKeyFile(key, 'pose as this service'),
            ],
          },
        ]),
    { name: 'public URL', run: () => inspectBaseUrl(publicUrls(settings), isRunning) },
  ];
}

const RULES = 'docs/settings.md has the rule; correct this first, then run the doctor again';

function describeSettings({ settings, clients }: Configuration): readonly Finding[] {
  const { CLIENT_REPOSITORY: repository, BASE_URL: baseUrl, TOKEN_ISSUER: issuer } = settings;
  const { KEY_DIRECTORY: directory, TOKEN_SIGNING_ALG: algorithm, SERVICE_PROFILE: profile } = settings;
  const plain = clients.filter(({ clientSecret }) => clientSecret.startsWith('{noop}')).length;
  const keys = `keys for ${algorithm} in ${directory}`;
  const hash = 'replace {noop}… by the output of npm run clients -- hash';
  return [
    fine(`registrations in ${repository}, ${keys}, BASE_URL ${baseUrl}, issuer ${issuer}, profile ${profile}`),
    ...(repository === 'memory' ? [countOf(clients.length)] : []),
    ...(plain > 0 ? [note(`secrets in plain text in CLIENTS_FILE: ${plain}`, hash)] : []),
    ...clients.flatMap(warningsAboutClient).slice(0, WARNINGS_MAX),
    ...inspectLifetimes(
      clients.map(({ clientId, details }) => {
        return { clientId, tokenLifetimeSeconds: details?.token_lifetime_seconds ?? Infinity };
      }),
      settings.TOKEN_LIFETIME_SECONDS,
    ),
  ];
}

/** Entries of CLIENTS_FILE that are named one by one. */
const WARNINGS_MAX = 10;

function warningsAboutClient({ clientId, clientSecret, scope }: NewClient, position: number): readonly Finding[] {
  const fixes = {
    client_id: invisibleEnd(clientId),
    client_secret: invisibleEnd(clientSecret),
    scope: scope.includes(',') ? 'separate scopes by spaces: a comma is part of a scope' : undefined,
  };
  const entry = `CLIENTS_FILE: entry ${position}: client ${clientId}`;
  return Object.entries(fixes).flatMap(([field, fix]) =>
    fix === undefined ? [] : [note(`${entry}: ${field} is probably a mistake`, fix)],
  );
}

function countOf(clients: number): Finding {
  const text = `registrations in CLIENTS_FILE: ${clients}`;
  return clients > 0 ? fine(text) : note(text, 'add one, as config/demo/clients.json shows: nobody gets a token');
}

/** What the service that runs says about itself. */
function describeRunning(
  checks: readonly CheckState[] | undefined,
  { MANAGEMENT_PORT: port }: Settings,
): readonly Finding[] {
  if (port === 0) return [note('MANAGEMENT_PORT is 0: a service that runs cannot be asked', 'set it to a port')];
  if (checks === undefined) return [fine(`no service answers on MANAGEMENT_PORT ${port}: it does not run here`)];
  const isReady = checks.every(({ ready }) => ready);
  return [...checks.flatMap(describeCheck), ...(isReady ? [fine('the service runs, and is ready')] : [])];
}

function describeCheck(check: CheckState): readonly Finding[] {
  const { name, fix } = check;
  if (check.ready) {
    return check.note === undefined ? [] : [note(`the service that runs says about ${name}: ${check.note}`, fix)];
  }
  if (name === LIFECYCLE) return [note(`the service that runs is ${check.reason}`, fix)];
  return [problem(`the service that runs is not ready: ${name}: ${check.reason}`, fix)];
}

/** Where the status page is; port 0 is any free one. */
function describeStatusPage({ settings, managementToken }: Configuration): readonly Finding[] {
  const { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port } = settings;
  if (managementToken === undefined) return [fine('there is no status page: MANAGEMENT_TOKEN switches it on')];
  if (port === 0) return [fine('the status page is on; the service logs its port, since MANAGEMENT_PORT is 0')];
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${STATUS_PAGE_PATH}`;
  const text = `the status page is at ${url}, and asks for MANAGEMENT_TOKEN`;
  if (/^(localhost|127\.|::1$)/.test(host)) return [fine(text)];
  const fix = 'let only operators reach MANAGEMENT_PORT, through a tunnel (docs/operate.md)';
  return [note(`${text}, which travels unencrypted`, fix)];
}

function publicUrls({ BASE_URL: baseUrl, TOKEN_ISSUER: issuer, PUBLIC_METADATA: isPublic }: Settings) {
  // The path of the route escapes what has a meaning in a route.
  const path = metadataPath(issuer).replaceAll('\\', '');
  const metadataUrl = `${new URL(baseUrl).origin}${path}`;
  const [tokenUrl, keySetUrl] = [`${baseUrl}${TOKEN_PATH}`, `${baseUrl}${KEY_SET_PATH}`];
  return { baseUrl, issuer, tokenUrl, metadataUrl, keySetUrl, isPublic };
}
