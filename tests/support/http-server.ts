import { LOAD_LIMITS, LoadLimit } from '../../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../../adapters/http/admission/rejection-delay.ts';
import { HTTP_TIMEOUTS, HttpServer, type HttpServerParts } from '../../adapters/http/server/http-server.ts';
import type { Route } from '../../adapters/http/server/koa-application.ts';

import { RandomIdGenerator } from '../../adapters/system/system.ts';
import { AuthorizeRequest } from '../../application/authorize-request.ts';
import { FixedClock } from './fixed-clock.ts';
import { unstartedKeyRing } from './fresh-key-ring.ts';
import { ISSUER } from './running-service.ts';

/** The HTTP server with routes of a test, and nothing of the service behind it. Every other path is answered 401. */
export function createHttpServer(routes: readonly Route[], more: Partial<HttpServerParts> = {}): HttpServer {
  return new HttpServer({
    routes,
    authorizeRequest: new AuthorizeRequest(unstartedKeyRing(), new FixedClock(), {
      issuer: ISSUER,
    }),
    ids: new RandomIdGenerator(),
    log: { info: () => {}, error: () => {} },
    load: new LoadLimit(LOAD_LIMITS),
    rejectionDelay: new RejectionDelay(),
    timeouts: HTTP_TIMEOUTS,
    onFault: () => {},
    ...more,
  });
}
