import { hostname } from 'node:os';
import { openApiEndpoint } from '../../adapters/http/endpoints/open-api-endpoint.ts';
import type { Access } from '../../adapters/http/server/koa-application.ts';
import { OperatorAccess } from '../../adapters/http/server/operator-access.ts';
import { meaningOf } from '../../adapters/http/server/reason-meanings.ts';
import { MINUTES_MAX, MinuteHistory } from '../../adapters/http/status-page/minute-history.ts';
import { CLIENTS_MAX, RefusalRecords } from '../../adapters/http/status-page/refusal-records.ts';
import type { LookUp, StatusOfService } from '../../adapters/http/status-page/status-page.ts';
import { statusRoutes } from '../../adapters/http/status-page/status-route.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { keyPeriods } from '../../application/keys/key-ring-report.ts';
import { type HealthCheck, statesOf } from '../../application/ports/health-check.ts';
import { type Core, PARTS } from '../container.ts';
import type { SigningKeys } from '../core/signing-keys.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { KEYS_IN_MEMORY, type Settings } from '../settings/settings.ts';

/** Registered clients that the page lists. */
const CLIENTS_SHOWN = 20;

/** `MANAGEMENT_TOKEN`: the status of the service for its operator, as a page on the management port. */
export function statusPage(
  { settings, managementToken }: Configuration,
  core: Core,
  checks: () => readonly HealthCheck[],
  { ring }: SigningKeys,
): Feature | undefined {
  const { BASE_URL: base_url, TOKEN_ISSUER: issuer, CLIENT_REPOSITORY: repository } = settings;
  if (managementToken === undefined) return undefined;
  const clock = core.resolve(PARTS.clock);
  const [records, history] = [new RefusalRecords(clock), new MinuteHistory(clock)];
  const service = { version: programVersion(), base_url, issuer, replica: `${hostname()}:${process.pid}` };
  const find = (asked: LookUp) =>
    records.find('request' in asked ? { requestId: asked.request } : { clientId: asked.client });
  const status = (asked?: LookUp): StatusOfService => ({
    at: clock.now(),
    service,
    checks: statesOf([...checks(), ...lossesOf(settings)]),
    minutes: history.minutes(),
    keys: keyPeriods(ring.view()),
    refused: records.find({ latestClients: CLIENTS_SHOWN }),
    lookUp: asked && { asked, found: find(asked) },
    meaningOf: (reason) => meaningOf(reason, repository === 'memory' ? 'file' : 'database'),
  });
  const access: Access = { kind: 'operator', operator: new OperatorAccess(managementToken.reveal()) };
  return {
    managementRoutes: [
      ...statusRoutes(access, status),
      { path: '/openapi.json', access, methods: { GET: openApiEndpoint(base_url) } },
    ],
    counter: {
      count(line) {
        records.add(line);
        history.count(line);
      },
    },
    metrics(values) {
      values.gauge('auth_refusal_records', records.size);
      values.gauge('auth_refused_clients', records.clients, CLIENTS_MAX);
      values.gauge('auth_status_minutes', history.size, MINUTES_MAX);
    },
  };
}

const KEYS_SETTING = 'KEY_DIRECTORY';

/** What an operator should know before the next restart. No check of /readyz: nothing is wrong until then. */
function lossesOf(settings: Settings): readonly HealthCheck[] {
  if (!KEYS_IN_MEMORY.applies(settings)) return [];
  return [{ name: KEYS_SETTING, readiness: () => ({ ready: true, note: { code: KEYS_SETTING, ...KEYS_IN_MEMORY } }) }];
}
