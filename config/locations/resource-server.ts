import type { Logger } from 'pino';
import { EventLoopDelay } from '../../adapters/http/admission/event-loop-delay.ts';
import { LOAD_LIMITS, LoadLimit } from '../../adapters/http/admission/load-limit.ts';
import { RefusalPace } from '../../adapters/http/admission/rejection-delay.ts';
import { LOCATION_PATH, locationEndpoint } from '../../adapters/http/endpoints/location-endpoint.ts';
import { createApplication } from '../../adapters/http/server/application.ts';
import { HttpListener } from '../../adapters/http/server/http-listener.ts';
import { createHttpServer, HTTP_TIMEOUTS } from '../../adapters/http/server/http-server.ts';
import type { Route } from '../../adapters/http/server/route.ts';
import { RemoteKeyProvider } from '../../adapters/jwks-client/remote-key-provider.ts';
import { JoseTokenVerifier } from '../../adapters/jwt/jose-token-verifier.ts';
import { InMemoryLocationCatalog } from '../../adapters/memory/in-memory-location-catalog.ts';
import { PLACES } from '../../adapters/memory/places.ts';
import { RandomIdGenerator } from '../../adapters/system/random-id-generator.ts';
import { AuthorizeRequest } from '../../application/authorize-request.ts';
import { FindLocation } from '../../application/find-location.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { logConnectionFault } from '../connection-fault.ts';
import { createRequestLog } from '../request-log.ts';
import type { LocationsSettings } from '../settings/locations-settings.ts';
import { createKeySetLog } from './key-set-log.ts';

export interface ResourceServer {
  readonly host: string;
  readonly port: number;
  /** Ends it so that no request is lost. May be called more than once; the first call counts. */
  stop(): Promise<void>;
}

/**
 * The example resource as a process of its own: the service's use cases and HTTP, and the keys by a URL. Resolves when it
 * listens, whether or not the key set can be had yet; rejects where the port cannot be had.
 */
export async function startResourceServer(
  settings: LocationsSettings,
  clock: Clock,
  log: Logger,
): Promise<ResourceServer> {
  const keys = new RemoteKeyProvider(keyOptions(settings), clock, createKeySetLog(log));
  const authorizeRequest = new AuthorizeRequest(new JoseTokenVerifier(keys), clock, {
    issuer: settings.TOKEN_ISSUER,
    audience: settings.TOKEN_AUDIENCE,
    leewaySeconds: settings.TOKEN_LEEWAY_SECONDS,
  });
  const ids = new RandomIdGenerator();
  const requestLog = createRequestLog(log);
  const delay = new EventLoopDelay();
  const application = createApplication({
    pace: new RefusalPace(),
    load: new LoadLimit(LOAD_LIMITS, () => delay.milliseconds),
    routes: [locationRoute(settings)],
    authorizeRequest,
    ids,
    log: requestLog,
    onFault: (fault) => logConnectionFault(log, fault),
  });
  const listener = new HttpListener(createHttpServer(application, ids, requestLog, HTTP_TIMEOUTS));

  // Not needed before the first token; but an operator learns of a wrong URL at once.
  void keys.refresh();
  const { address, port } = await listener.listen(settings.PORT, settings.HOST).catch((error) => {
    keys.close();
    throw error;
  });
  log.info({ event: 'started', address, port });

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    log.info({ event: 'stopping' });
    await listener.close(settings.SHUTDOWN_DRAIN_MS, () => keys.close());
    keys.close();
    log.info({ event: 'stopped' });
  };
  return {
    host: address,
    port,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

function locationRoute({ LOCATION_FIELD_ORDER }: LocationsSettings): Route {
  const findLocation = new FindLocation(new InMemoryLocationCatalog(PLACES));
  const handler = locationEndpoint(findLocation, LOCATION_FIELD_ORDER);
  return { path: LOCATION_PATH, access: { kind: 'bearer' }, methods: { GET: handler } };
}

function keyOptions(settings: LocationsSettings) {
  return {
    uri: settings.JWKS_URI,
    timeoutMs: settings.JWKS_TIMEOUT_MS,
    cooldownSeconds: settings.JWKS_COOLDOWN_SECONDS,
    staleSeconds: settings.JWKS_STALE_SECONDS,
  };
}
