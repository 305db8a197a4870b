import type { Logger } from 'pino';
import { LOAD_LIMITS, LoadLimit } from '../../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../../adapters/http/admission/rejection-delay.ts';
import { locationRoute } from '../../adapters/http/example-resource/location-route.ts';
import { HTTP_TIMEOUTS, HttpServer } from '../../adapters/http/server/http-server.ts';
import { Lifecycle, type RunningServer, startServer } from '../../adapters/http/server/running-server.ts';
import { RemoteKeyProvider } from '../../adapters/http-client/example-resource/remote-key-provider.ts';
import { readPublicKey } from '../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../adapters/jwt/jose-token-verifier.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { inMemoryLocationCatalog, PLACES } from '../../adapters/memory/example-resource/in-memory-location-catalog.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import { AuthorizeRequest } from '../../application/authorize-request.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { LocationsSettings } from './locations-settings.ts';

/**
 * The example resource as a process of its own: the service's use cases and HTTP server, with the keys of a remote key
 * set. Resolves when it listens, whether or not the key set is available yet; rejects where the port is not available.
 */
export async function startResourceServer(
  settings: LocationsSettings,
  clock: Clock,
  log: Logger,
): Promise<RunningServer> {
  const keyOptions = {
    uri: settings.JWKS_URI,
    read: readPublicKey,
    timeoutMs: settings.JWKS_TIMEOUT_MS,
    cooldownSeconds: settings.JWKS_COOLDOWN_SECONDS,
    staleSeconds: settings.JWKS_STALE_SECONDS,
  };
  const keys = new RemoteKeyProvider(keyOptions, clock, createStateLog(log));
  const server = new HttpServer({
    rejectionDelay: new RejectionDelay(),
    load: new LoadLimit(LOAD_LIMITS),
    routes: [locationRoute(inMemoryLocationCatalog(PLACES), settings.LOCATION_FIELD_ORDER)],
    authorizeRequest: new AuthorizeRequest(joseTokenVerifier(keys), clock, {
      issuer: settings.TOKEN_ISSUER,
      audience: settings.TOKEN_AUDIENCE,
      leewaySeconds: settings.TOKEN_LEEWAY_SECONDS,
    }),
    ids: new RandomIdGenerator(),
    log,
    onFault: createStateLog(log),
    timeouts: HTTP_TIMEOUTS,
  });

  // Not needed before the first token, but it shows an operator a wrong URL at once.
  void keys.refresh();
  return startServer({
    listener: () => ({ server, host: settings.HOST, port: settings.PORT }),
    lifecycle: new Lifecycle(),
    graceMs: 0,
    drainMs: settings.SHUTDOWN_DRAIN_MS,
    endWaits: () => keys.close(),
    closables: [],
    log: (event, address) => log.info({ event, ...address }),
  });
}
