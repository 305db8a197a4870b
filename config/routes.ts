import {
  LIVENESS_PATH,
  livenessEndpoint,
  READINESS_PATH,
  readinessEndpoint,
} from '../adapters/http/endpoints/health-endpoints.ts';
import { KEY_SET_PATH, keySetEndpoint } from '../adapters/http/endpoints/key-set-endpoint.ts';
import { LOCATION_PATH, locationEndpoint } from '../adapters/http/endpoints/location-endpoint.ts';
import { metadataEndpoint, metadataPath, TOKEN_PATH } from '../adapters/http/endpoints/metadata-endpoint.ts';
import { METRICS_PATH, metricsEndpoint, type Scrape } from '../adapters/http/endpoints/metrics-endpoint.ts';
import { tokenEndpoint } from '../adapters/http/endpoints/token-endpoint.ts';
import type { Access, Route } from '../adapters/http/server/route.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { Settings } from './settings/settings.ts';
import { type Get, TOKENS } from './tokens.ts';

/** Every path that the service answers, and who may come in. */
export function createRoutes(settings: Settings, get: Get): readonly Route[] {
  const access: Access = { kind: settings.PUBLIC_METADATA ? 'public' : 'bearer' };
  const cacheability = settings.PUBLIC_METADATA ? 'public' : 'private';
  const metadata = {
    issuer: settings.TOKEN_ISSUER,
    baseUrl: settings.BASE_URL,
    scopes: settings.METADATA_SCOPES,
    cacheability,
  } as const;
  return [
    {
      path: TOKEN_PATH,
      access: { kind: 'public' },
      methods: { POST: tokenEndpoint(get(TOKENS.issueToken), get(TOKENS.loadLimit)) },
    },
    { path: KEY_SET_PATH, access, methods: { GET: keySetEndpoint(get(TOKENS.publishKeys), cacheability) } },
    { path: metadataPath(settings.TOKEN_ISSUER), access, methods: { GET: metadataEndpoint(metadata) } },
    ...(settings.EXAMPLE_RESOURCE ? [locationRoute(settings, get)] : []),
  ];
}

/** What the management port answers: to anybody, so it belongs on an address that only the operator reaches. */
export function createManagementRoutes(checks: () => readonly HealthCheck[], scrape: Scrape): readonly Route[] {
  return [
    { path: LIVENESS_PATH, access: { kind: 'public' }, methods: { GET: livenessEndpoint() } },
    { path: READINESS_PATH, access: { kind: 'public' }, methods: { GET: readinessEndpoint(checks) } },
    { path: METRICS_PATH, access: { kind: 'public' }, methods: { GET: metricsEndpoint(scrape) } },
  ];
}

function locationRoute(settings: Settings, get: Get): Route {
  const handler = locationEndpoint(get(TOKENS.findLocation), settings.LOCATION_FIELD_ORDER);
  return { path: LOCATION_PATH, access: { kind: 'bearer' }, methods: { GET: handler } };
}
