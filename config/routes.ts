import type { LoadLimit } from '../adapters/http/admission/load-limit.ts';
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
import type { FindLocation } from '../application/find-location.ts';
import type { IssueToken } from '../application/issue-token.ts';
import type { PublishKeys } from '../application/keys/publish-keys.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { Settings } from './settings/settings.ts';

export interface RouteParts {
  readonly issueToken: IssueToken;
  readonly publishKeys: PublishKeys;
  readonly findLocation: FindLocation;
  readonly load: LoadLimit;
}

/** The routes of the public port, and who has access to each. */
export function createRoutes(settings: Settings, parts: RouteParts): readonly Route[] {
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
      methods: { POST: tokenEndpoint(parts.issueToken, parts.load) },
    },
    { path: KEY_SET_PATH, access, methods: { GET: keySetEndpoint(parts.publishKeys, cacheability) } },
    { path: metadataPath(settings.TOKEN_ISSUER), access, methods: { GET: metadataEndpoint(metadata) } },
    ...(settings.EXAMPLE_RESOURCE ? [locationRoute(settings, parts)] : []),
  ];
}

/** The routes of the management port. They require no token: bind the port to an address that only operators can reach. */
export function createManagementRoutes(checks: () => readonly HealthCheck[], scrape: Scrape): readonly Route[] {
  return [
    { path: LIVENESS_PATH, access: { kind: 'public' }, methods: { GET: livenessEndpoint() } },
    { path: READINESS_PATH, access: { kind: 'public' }, methods: { GET: readinessEndpoint(checks) } },
    { path: METRICS_PATH, access: { kind: 'public' }, methods: { GET: metricsEndpoint(scrape) } },
  ];
}

function locationRoute(settings: Settings, { findLocation }: RouteParts): Route {
  const handler = locationEndpoint(findLocation, settings.LOCATION_FIELD_ORDER);
  return { path: LOCATION_PATH, access: { kind: 'bearer' }, methods: { GET: handler } };
}
