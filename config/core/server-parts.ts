import type { DependencyContainer } from 'tsyringe';
import { LOAD_LIMITS, LoadLimit } from '../../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../../adapters/http/admission/rejection-delay.ts';
import { ResponsePacing } from '../../adapters/http/admission/response-pacing.ts';
import { managementRoutes } from '../../adapters/http/endpoints/management-routes.ts';
import { WELL_KNOWN } from '../../adapters/http/endpoints/paths.ts';
import { publicRoutes } from '../../adapters/http/endpoints/public-routes.ts';
import { recordRefusedTokenRequests } from '../../adapters/http/endpoints/refused-token-requests.ts';
import { clientAddressBehind } from '../../adapters/http/parsing/client-address.ts';
import { ownHosts } from '../../adapters/http/parsing/own-hosts.ts';
import { HttpServer } from '../../adapters/http/server/http-server.ts';
import { Lifecycle } from '../../adapters/http/server/running-server.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { ProcessMetrics } from '../../adapters/prom-client/process-metrics.ts';
import { describeRequest } from '../../adapters/tracing/active-span.ts';
import type { RequestLog } from '../../application/ports/telemetry.ts';
import type { Service } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { type Get, part } from '../registration.ts';
import { connectionsMax, MANAGEMENT_CONNECTIONS_MAX } from '../settings/derived-values.ts';

/** Probes come every second, so requests to the management port are not logged. Health is logged when it changes. */
const NO_LOG: RequestLog = { info: () => {}, error: () => {} };

/** The two ports with their routes, and what measures them. */
export function registerServerParts(parts: DependencyContainer, { configuration, settings }: Service): void {
  part(parts, PARTS.processMetrics, (get) => {
    return new ProcessMetrics(get(PARTS.logDestination), () => get(PARTS.verifiedSecrets));
  });
  part(parts, PARTS.loadLimit, () => new LoadLimit(LOAD_LIMITS));
  part(parts, PARTS.rejectionDelay, () => new RejectionDelay());
  part(parts, PARTS.lifecycle, () => new Lifecycle());
  const serverParts = (get: Get) => ({
    authorizeRequest: get(PARTS.authorizeRequest),
    ids: get(PARTS.ids),
    rejectionDelay: get(PARTS.rejectionDelay),
    timeouts: configuration.httpTimeouts,
    onFault: createStateLog(get(PARTS.log)),
  });

  part(parts, PARTS.routes, (get) => {
    const { TOKEN_ISSUER: issuer, BASE_URL: baseUrl, TOKEN_SIGNING_ALG: algorithm, METADATA_SCOPES: scopes } = settings;
    return publicRoutes({
      issueToken: get(PARTS.issueToken),
      keyProvider: get(PARTS.keyProvider),
      load: get(PARTS.loadLimit),
      methods: settings.CLIENT_AUTHENTICATION_METHODS,
      responseScope: settings.TOKEN_RESPONSE_SCOPE,
      metadata: { issuer, baseUrl, algorithm, scopes, compatibility: settings.METADATA_COMPATIBILITY },
      publicMetadata: settings.PUBLIC_METADATA,
      furtherRoutes: get.all(LISTS.publicRoutes).flat(),
    });
  });
  part(parts, PARTS.publicApplication, (get) => {
    const { TRUSTED_PROXIES: trusted } = settings;
    const counters = [get(PARTS.processMetrics), ...get.all(LISTS.requestCounters)];
    return {
      ...serverParts(get),
      ...(trusted && { clientAddress: clientAddressBehind(trusted) }),
      log: get(PARTS.log),
      metrics: {
        count: (line) => {
          describeRequest(line);
          for (const counter of counters) counter.count(line);
        },
      },
      load: get(PARTS.loadLimit),
      responsePacing: new ResponsePacing(),
      routes: get(PARTS.routes),
      publicPrefix: settings.PUBLIC_METADATA ? WELL_KNOWN : undefined,
      onRefusal: recordRefusedTokenRequests(get(PARTS.auditLog), get(PARTS.clock), settings.BASE_URL),
    };
  });
  part(parts, PARTS.httpServer, (get) => {
    const application = get(PARTS.publicApplication);
    const server = new HttpServer({
      ...application,
      connectionsMax: connectionsMax(settings),
      layers: get.all(LISTS.connectionLayers),
    });
    get(PARTS.processMetrics).measureHttp(server, application);
    return server;
  });

  part(parts, PARTS.healthChecks, (get) => () => {
    return [
      get(PARTS.lifecycle),
      get(PARTS.logDestination),
      ...get(PARTS.auditOutput).checks,
      ...get(PARTS.dependencies),
    ];
  });
  part(parts, PARTS.managementRoutes, (get) => {
    const verificationChecks = () => [get(PARTS.lifecycle), get(PARTS.keyRotation).verification];
    const metrics = get(PARTS.processMetrics);
    const own = managementRoutes(get(PARTS.healthChecks), verificationChecks, () => metrics.exposition());
    return [...own, ...get.all(LISTS.managementRoutes).flat()];
  });
  part(parts, PARTS.managementServer, (get) => {
    const routes = get(PARTS.managementRoutes);
    return new HttpServer({
      ...serverParts(get),
      log: NO_LOG,
      load: new LoadLimit(LOAD_LIMITS),
      connectionsMax: MANAGEMENT_CONNECTIONS_MAX,
      routes,
      otherPaths: routes.find(({ access }) => access.kind === 'operator')?.access,
      answersHost: ownHosts([settings.MANAGEMENT_HOST, ...(settings.MANAGEMENT_ALLOWED_HOSTS ?? [])]),
    });
  });
}
