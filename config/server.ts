import type { Server } from 'node:http';
import { createApplication } from '../adapters/http/application.ts';
import { createHttpServer } from '../adapters/http/http-server.ts';
import { LoadLimit } from '../adapters/http/load-limit.ts';
import type { RequestLog } from '../adapters/http/request-log.ts';
import type { Route } from '../adapters/http/route.ts';
import { logConnectionFault } from './connection-fault.ts';
import { type Get, TOKENS } from './tokens.ts';

/** A server of these routes, with the service's own posture: what matches none of them asks for a token. */
export function createServer(routes: readonly Route[], log: RequestLog, get: Get): Server {
  const delay = get(TOKENS.eventLoopDelay);
  const load = new LoadLimit(get(TOKENS.loadLimits), () => delay.milliseconds);
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
