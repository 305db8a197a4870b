import { hostname } from 'node:os';
import { openApiEndpoint } from '../../adapters/http/endpoints/open-api-endpoint.ts';
import { TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import type { Access } from '../../adapters/http/server/koa-application.ts';
import { OperatorAccess } from '../../adapters/http/server/operator-access.ts';
import { CLIENTS_MAX, RefusalRecords } from '../../adapters/http/status-page/refusal-records.ts';
import { ServiceStatus } from '../../adapters/http/status-page/service-status.ts';
import { SAMPLES_MAX } from '../../adapters/http/status-page/status-history.ts';
import { statusPageRoutes } from '../../adapters/http/status-page/status-page-routes.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { keyPeriods } from '../../application/keys/key-ring-report.ts';
import type { HealthCheck } from '../../application/ports/health-check.ts';
import type { SigningKeys } from '../core/signing-keys.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';
import { KEYS_IN_MEMORY, type Settings } from '../settings/settings.ts';

/** `MANAGEMENT_TOKEN`: the status of the service for its operator, as a page and as JSON, on the management port. */
export function statusPage(
  { settings, managementToken }: Configuration,
  core: Core,
  checks: () => readonly HealthCheck[],
  { ring }: SigningKeys,
): Feature | undefined {
  const { BASE_URL: baseUrl, TOKEN_ISSUER: issuer } = settings;
  if (managementToken === undefined) return undefined;
  const records = new RefusalRecords(core.resolve(PARTS.clock));
  const replica = `${hostname()}:${process.pid}`;
  const status = new ServiceStatus({
    clock: core.resolve(PARTS.clock),
    service: { version: programVersion(), base_url: baseUrl, issuer, replica },
    checks: () => [...checks(), ...lossesOf(settings)],
    figures: () => core.resolve(PARTS.processMetrics).figures(TOKEN_PATH),
    keys: () => keyPeriods(ring.view()),
    findRefusals: (query) => records.find(query),
  });
  core.registerInstance(PARTS.serviceStatus, status);
  const access: Access = { kind: 'operator', operator: new OperatorAccess(managementToken.reveal()) };
  const registrations = settings.CLIENT_REPOSITORY === 'memory' ? 'file' : 'database';
  return {
    managementRoutes: [
      ...statusPageRoutes({ access, status, registrations }),
      { path: '/openapi.json', access, methods: { GET: openApiEndpoint(baseUrl) } },
    ],
    counter: { count: (line) => records.add(line) },
    start: () => status.start(),
    close: () => status.close(),
    metrics(values) {
      values.gauge('auth_refusal_records', records.size);
      values.gauge('auth_refused_clients', records.clients, CLIENTS_MAX);
      values.gauge('auth_status_samples', status.samples, SAMPLES_MAX);
    },
  };
}

const KEYS_SETTING = 'KEY_DIRECTORY';

/** What an operator should know before the next restart. No check of /readyz: nothing is wrong until then. */
function lossesOf(settings: Settings): readonly HealthCheck[] {
  if (!KEYS_IN_MEMORY.applies(settings)) return [];
  return [{ name: KEYS_SETTING, readiness: () => ({ ready: true, note: { code: KEYS_SETTING, ...KEYS_IN_MEMORY } }) }];
}
