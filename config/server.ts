import type { Server } from 'node:http';
import { LoadLimit } from '../adapters/http/admission/load-limit.ts';
import { createApplication } from '../adapters/http/server/application.ts';
import { createHttpServer } from '../adapters/http/server/http-server.ts';
import type { RequestLog } from '../adapters/http/server/request-log.ts';
import type { Route } from '../adapters/http/server/route.ts';
import { logConnectionFault } from './connection-fault.ts';
import { type Get, TOKENS } from './tokens.ts';

/** A server of these routes, with the service's own posture: what matches none of them asks for a token. */
export function createServer(routes: readonly Route[], log: RequestLog, load: LoadLimit, get: Get): Server {
  const application = createApplication({
    routes,
    authorizeRequest: get(TOKENS.authorizeRequest),
    ids: get(TOKENS.ids),
    log,
    load,
    pace: get(TOKENS.refusalPace),
    onFault: (fault) => logConnectionFault(get(TOKENS.log), fault),
  });
  return createHttpServer(application, get(TOKENS.ids), log, get(TOKENS.httpTimeouts));
}

export function createLoadLimit(get: Get): LoadLimit {
  const delay = get(TOKENS.eventLoopDelay);
  return new LoadLimit(get(TOKENS.loadLimits), () => delay.milliseconds);
}
