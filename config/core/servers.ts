import { LOAD_LIMITS, LoadLimit } from '../../adapters/http/admission/load-limit.ts';
import { ResponsePacing } from '../../adapters/http/admission/response-pacing.ts';
import { managementRoutes } from '../../adapters/http/endpoints/management-routes.ts';
import { CLIENTS_PATH, MISTAKEN_TOKEN_PATHS, TOKEN_PATH, WELL_KNOWN } from '../../adapters/http/endpoints/paths.ts';
import { publicRoutes } from '../../adapters/http/endpoints/public-routes.ts';
import { recordRefusedTokenRequests } from '../../adapters/http/endpoints/refused-token-requests.ts';
import { clientAddressBehind } from '../../adapters/http/parsing/client-address.ts';
import { ownHosts } from '../../adapters/http/parsing/own-hosts.ts';
import { HttpServer, type HttpServerParts } from '../../adapters/http/server/http-server.ts';
import type { Route } from '../../adapters/http/server/koa-application.ts';
import type { RequestServer } from '../../adapters/http/server/running-server.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { describeRequest } from '../../adapters/tracing/active-span.ts';
import type { HealthCheck } from '../../application/ports/health-check.ts';
import type { Admission, RequestLine, RequestLog } from '../../application/ports/telemetry.ts';
import { type Core, PARTS } from '../container.ts';
import type { Feature } from '../feature.ts';
import type { Configuration } from '../settings/configuration.ts';
import { connectionsMax, MANAGEMENT_CONNECTIONS_MAX } from '../settings/derived-values.ts';
import type { Settings } from '../settings/settings.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Makes what answers requests. */
export type CreateServer = (parts: HttpServerParts & Admission) => RequestServer;

/**
 * Probes come every second, so of the requests to the management port only those of the API are logged. Health is
 * logged when it changes.
 */
function logOfApi(log: RequestLog): RequestLog {
  const isOfApi = ({ route }: RequestLine) => route.startsWith(CLIENTS_PATH);
  return {
    info: (line) => isOfApi(line) && log.info(line),
    error: (line) => isOfApi(line) && log.error(line),
  };
}

/** The routes of the management port, with those that features add. */
export function managementRoutesOf(
  core: Core,
  checks: () => readonly HealthCheck[],
  { verification }: SigningKeys,
  features: readonly Feature[],
): readonly Route[] {
  const metrics = core.resolve(PARTS.processMetrics);
  const verificationChecks = () => [core.resolve(PARTS.lifecycle), verification];
  return [
    ...managementRoutes(checks, verificationChecks, () => metrics.exposition()),
    ...features.flatMap(({ managementRoutes: added = [] }) => added),
  ];
}

/** The public port. */
export function publicServer(
  core: Core,
  configuration: Configuration,
  routes: readonly Route[],
  features: readonly Feature[],
  create: CreateServer = (parts) => new HttpServer(parts),
): RequestServer {
  const { settings } = configuration;
  const { TRUSTED_PROXIES: trusted, PUBLIC_METADATA: isPublic } = settings;
  const metrics = core.resolve(PARTS.processMetrics);
  const counters = [metrics, ...features.flatMap(({ counter }) => counter ?? [])];
  const parts = {
    ...commonParts(core, configuration),
    ...(trusted && { clientAddress: clientAddressBehind(trusted) }),
    log: core.resolve(PARTS.log),
    metrics: {
      count: (line) => {
        describeRequest(line);
        for (const counter of counters) counter.count(line);
      },
    },
    load: core.resolve(PARTS.loadLimit),
    responsePacing: new ResponsePacing(),
    routes,
    publicPrefix: isPublic ? WELL_KNOWN : undefined,
    mistakenPaths: new Map(MISTAKEN_TOKEN_PATHS.map((path) => [path, TOKEN_PATH])),
    onRefusal: recordRefusedTokenRequests(core.resolve(PARTS.auditLog), core.resolve(PARTS.clock), settings.BASE_URL),
    connectionsMax: connectionsMax(settings),
    tls: features.find(({ tls }) => tls)?.tls,
  } satisfies HttpServerParts;
  const server = create(parts);
  metrics.measureHttp(server, parts);
  return server;
}

/** The routes of the public port, with those that features add. */
export function publicRoutesOf(core: Core, settings: Settings, features: readonly Feature[]): readonly Route[] {
  const { TOKEN_ISSUER: issuer, BASE_URL: baseUrl, TOKEN_SIGNING_ALG: algorithm, METADATA_SCOPES: scopes } = settings;
  return publicRoutes({
    issueToken: core.resolve(PARTS.issueToken),
    keyProvider: core.resolve(PARTS.keyProvider),
    methods: settings.CLIENT_AUTHENTICATION_METHODS,
    responseScope: settings.TOKEN_RESPONSE_SCOPE,
    audienceParameter: settings.AUDIENCE_PARAMETER,
    grants: settings.GRANT_TYPES,
    metadata: {
      ...{ issuer, baseUrl, algorithm, scopes, compatibility: settings.METADATA_COMPATIBILITY },
      revocation: settings.TOKEN_REVOCATION,
    },
    publicMetadata: settings.PUBLIC_METADATA,
    furtherRoutes: features.flatMap(({ routes = [] }) => routes),
  });
}

export function managementServer(core: Core, configuration: Configuration, routes: readonly Route[]): HttpServer {
  const { MANAGEMENT_HOST: host, MANAGEMENT_ALLOWED_HOSTS: allowed = [] } = configuration.settings;
  return new HttpServer({
    ...commonParts(core, configuration),
    log: logOfApi(core.resolve(PARTS.log)),
    load: new LoadLimit(LOAD_LIMITS),
    connectionsMax: MANAGEMENT_CONNECTIONS_MAX,
    routes,
    otherPaths: routes.find(({ access }) => access.kind === 'operator')?.access,
    answersHost: ownHosts([host, ...allowed]),
  });
}

function commonParts(core: Core, { httpTimeouts }: Configuration) {
  return {
    authorizeRequest: core.resolve(PARTS.authorizeRequest),
    ids: core.resolve(PARTS.ids),
    rejectionDelay: core.resolve(PARTS.rejectionDelay),
    timeouts: httpTimeouts,
    onFault: createStateLog(core.resolve(PARTS.log)),
  };
}
