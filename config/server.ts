import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { createApplication } from '../adapters/http/application.ts';
import { createHttpServer } from '../adapters/http/http-server.ts';
import type { RequestLog } from '../adapters/http/request-log.ts';
import type { Route } from '../adapters/http/route.ts';
import { type Get, TOKENS } from './tokens.ts';

/** A caller who breaks off is no fault of ours, and no news: its code is enough. */
function logConnectionFault(log: Logger, fault: unknown): void {
  const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
  if (code === 'ECONNRESET' || code === 'EPIPE') log.info({ event: 'connection_lost', code });
  else log.warn({ event: 'connection_failed', fault });
}

/** A server of these routes, with the service's own posture: what matches none of them asks for a token. */
export function createServer(routes: readonly Route[], log: RequestLog, get: Get): Server {
  const application = createApplication({
    routes,
    authorizeRequest: get(TOKENS.authorizeRequest),
    ids: get(TOKENS.ids),
    log,
    onFault: (fault) => logConnectionFault(get(TOKENS.log), fault),
  });
  return createHttpServer(application, get(TOKENS.ids), log, get(TOKENS.httpTimeouts));
}
