import { hostname } from 'node:os';
import type { InjectionToken } from 'tsyringe';
import { openApiEndpoint } from '../../adapters/http/endpoints/open-api-endpoint.ts';
import { TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import type { Access } from '../../adapters/http/server/koa-application.ts';
import { OperatorAccess } from '../../adapters/http/server/operator-access.ts';
import { CLIENTS_MAX, RefusalRecords } from '../../adapters/http/status-page/refusal-records.ts';
import { ServiceStatus } from '../../adapters/http/status-page/service-status.ts';
import { SAMPLES_MAX } from '../../adapters/http/status-page/status-history.ts';
import { STATUS_PAGE_PATH, statusPageRoutes } from '../../adapters/http/status-page/status-page-routes.ts';
import { askManagementPort, inspectKey } from '../../adapters/http-client/management-port.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import type { SecretText } from '../../adapters/system/secret-text.ts';
import type { HealthCheck } from '../../application/ports/health-check.ts';
import { type Finding, fine, note } from '../../application/ports/inspection.ts';
import { type Result, success } from '../../domain/result.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { KEYS_IN_MEMORY, type Settings } from '../settings/settings.ts';
import { readManagementToken, STATUS_SETTINGS } from './status-page/status-settings.ts';

/** What tests look into. */
export const STATUS_PARTS = {
  refusalRecords: Symbol('RefusalRecords') as InjectionToken<RefusalRecords>,
  serviceStatus: Symbol('ServiceStatus') as InjectionToken<ServiceStatus>,
};
const { refusalRecords: RECORDS, serviceStatus: STATUS } = STATUS_PARTS;

/** `MANAGEMENT_TOKEN`: the status of the service for its operator, as a page and as JSON, on the management port. */
export const statusPage = define({
  name: 'status-page',
  settings: STATUS_SETTINGS,
  read({ load, settings }): Result<SecretText | undefined, readonly string[]> {
    const file = load('MANAGEMENT_TOKEN_FILE', readManagementToken);
    return file.ok ? success(settings?.MANAGEMENT_TOKEN ?? file.value) : file;
  },
  register(parts, { settings }, token) {
    const { BASE_URL: baseUrl, TOKEN_ISSUER: issuer } = settings;
    if (token === undefined) return;
    part(parts, RECORDS, (get) => new RefusalRecords(get(PARTS.clock)));
    part(parts, LISTS.requestCounters, (get) => ({ count: (line) => get(RECORDS).add(line) }));
    part(parts, LISTS.measurements, (get) => (values) => {
      const { size, clients } = get(RECORDS);
      values.gauge('auth_refusal_records', 'Refused requests that can be looked up.', size);
      const help = 'Registered clients whose last refusals are kept.';
      values.gauge('auth_refused_clients', help, clients, CLIENTS_MAX);
      values.gauge('auth_status_samples', 'Samples in the history of the status.', get(STATUS).samples, SAMPLES_MAX);
    });
    part(parts, STATUS, (get) => {
      const replica = `${hostname()}:${process.pid}`;
      return new ServiceStatus({
        clock: get(PARTS.clock),
        service: { version: programVersion(), base_url: baseUrl, issuer, replica },
        checks: () => [...get(PARTS.healthChecks)(), ...lossesOf(settings)],
        figures: () => get(PARTS.processMetrics).figures(TOKEN_PATH),
        keys: () => get(PARTS.keyRing).periods(),
        findRefusals: (query) => get(RECORDS).find(query),
      });
    });
    part(parts, LISTS.managementRoutes, (get) => {
      const registrations = settings.CLIENT_REPOSITORY === 'memory' ? 'file' : 'database';
      const access: Access = { kind: 'operator', operator: new OperatorAccess(token.reveal()) };
      return [
        ...statusPageRoutes({ access, status: get(STATUS), registrations }),
        { path: '/openapi.json', access, methods: { GET: openApiEndpoint(baseUrl) } },
      ];
    });
    part(parts, LISTS.background, (get) => () => {
      get(STATUS).start();
    });
    part(parts, LISTS.closables, (get) => get(STATUS));
  },
  inspect({ settings: { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port, PUBLIC_METADATA: isPublic } }, token, kid) {
    const findKey = async (wanted: string) => {
      const keys = await askManagementPort({ host, port, token: token?.reveal() }, '/status/data', 'keys');
      if (Array.isArray(keys)) return [inspectKey(wanted, keys, 'the keys of the service that runs')];
      const fix =
        'run it beside the service, with its MANAGEMENT_PORT and MANAGEMENT_TOKEN; with KEY_DIRECTORY=database, compare with npm run keys -- list';
      return isPublic ? [] : [note(`the keys cannot be read, to compare them with ${wanted}`, fix)];
    };
    return [
      { name: 'status page', inspect: async () => (token === undefined ? [NO_PAGE] : inspectPage(host, port)) },
      ...(kid === undefined ? [] : [{ name: 'key', inspect: () => findKey(kid) }]),
    ];
  },
});

const KEYS_SETTING = 'KEY_DIRECTORY';

/** What an operator should know before the next restart. No check of /readyz: nothing is wrong until then. */
function lossesOf(settings: Settings): readonly HealthCheck[] {
  if (!KEYS_IN_MEMORY.applies(settings)) return [];
  return [{ name: KEYS_SETTING, readiness: () => ({ ready: true, note: { code: KEYS_SETTING, ...KEYS_IN_MEMORY } }) }];
}

const NO_PAGE = fine('there is no status page: MANAGEMENT_TOKEN switches it on');

/** Where the status page is; port 0 is any free one. */
function inspectPage(host: string, port: number): readonly Finding[] {
  if (port === 0) return [fine('the status page is on; the service logs its port, since MANAGEMENT_PORT is 0')];
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${STATUS_PAGE_PATH}`;
  const text = `the status page is at ${url}, and asks for MANAGEMENT_TOKEN`;
  if (/^(localhost|127\.|::1$)/.test(host)) return [fine(text)];
  const fix = 'let only operators reach MANAGEMENT_PORT, through a tunnel (docs/monitoring.md)';
  return [note(`${text}, which travels unencrypted`, fix)];
}
