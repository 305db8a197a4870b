import type { FindLocation } from '../../../application/find-location.ts';
import type { IssueToken } from '../../../application/issue-token.ts';
import type { PublishKeys } from '../../../application/keys/publish-keys.ts';
import type { HealthCheck } from '../../../application/ports/health-check.ts';
import type { LoadLimit } from '../admission/load-limit.ts';
import type { Access, Route } from '../server/application.ts';
import {
  KEY_SET_PATH,
  keySetEndpoint,
  type MetadataOptions,
  metadataEndpoint,
  metadataPath,
  TOKEN_PATH,
} from './discovery-endpoints.ts';
import { LOCATION_PATH, type LocationFieldOrder, locationEndpoint } from './location-endpoint.ts';
import {
  LIVENESS_PATH,
  livenessEndpoint,
  METRICS_PATH,
  metricsEndpoint,
  READINESS_PATH,
  readinessEndpoint,
  type Scrape,
} from './management-endpoints.ts';
import { tokenEndpoint } from './token-endpoint.ts';

export interface PublicRouteParts {
  readonly issueToken: IssueToken;
  readonly publishKeys: PublishKeys;
  readonly load: LoadLimit;
  readonly metadata: Omit<MetadataOptions, 'cacheability'>;
  /** Whether the key set and the metadata are public; otherwise they require a token. */
  readonly publicMetadata: boolean;
  /** Further routes, such as the example resource. */
  readonly resources: readonly Route[];
}

/** The routes of the public port, and who has access to each. */
export function publicRoutes(parts: PublicRouteParts): readonly Route[] {
  const access: Access = { kind: parts.publicMetadata ? 'public' : 'bearer' };
  const cacheability = parts.publicMetadata ? 'public' : 'private';
  const metadata = metadataEndpoint({ ...parts.metadata, cacheability });
  return [
    { path: TOKEN_PATH, access: { kind: 'public' }, methods: { POST: tokenEndpoint(parts.issueToken, parts.load) } },
    { path: KEY_SET_PATH, access, methods: { GET: keySetEndpoint(parts.publishKeys, cacheability) } },
    { path: metadataPath(parts.metadata.issuer), access, methods: { GET: metadata } },
    ...parts.resources,
  ];
}

/** The example resource. */
export function locationRoute(findLocation: FindLocation, order: LocationFieldOrder): Route {
  return {
    path: LOCATION_PATH,
    access: { kind: 'bearer' },
    methods: { GET: locationEndpoint(findLocation, order) },
  };
}

/** The routes of the management port. They require no token: bind the port to an address that only operators can reach. */
export function managementRoutes(checks: () => readonly HealthCheck[], scrape: Scrape): readonly Route[] {
  const access: Access = { kind: 'public' };
  return [
    { path: LIVENESS_PATH, access, methods: { GET: livenessEndpoint() } },
    { path: READINESS_PATH, access, methods: { GET: readinessEndpoint(checks) } },
    { path: METRICS_PATH, access, methods: { GET: metricsEndpoint(scrape) } },
  ];
}
