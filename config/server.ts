import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { EventLoopDelay } from '../adapters/http/admission/event-loop-delay.ts';
import { LOAD_LIMITS, LoadLimit } from '../adapters/http/admission/load-limit.ts';
import type { RefusalPace } from '../adapters/http/admission/rejection-delay.ts';
import { createApplication } from '../adapters/http/server/application.ts';
import { createHttpServer, type HttpTimeouts } from '../adapters/http/server/http-server.ts';
import type { RequestLog } from '../adapters/http/server/request-log.ts';
import type { Route } from '../adapters/http/server/route.ts';
import type { AuthorizeRequest } from '../application/authorize-request.ts';
import type { IdGenerator } from '../application/ports/id-generator.ts';
import { logConnectionFault } from './connection-fault.ts';

export interface ServerParts {
  readonly authorizeRequest: AuthorizeRequest;
  readonly ids: IdGenerator;
  readonly requestLog: RequestLog;
  readonly load: LoadLimit;
  readonly pace: RefusalPace;
  readonly log: Logger;
  readonly timeouts: HttpTimeouts;
}

/** A server of these routes. A request that matches none of them needs a token. */
export function createServer(routes: readonly Route[], parts: ServerParts): Server {
  const { authorizeRequest, ids, requestLog, load, pace, log, timeouts } = parts;
  const onFault = (fault: unknown) => logConnectionFault(log, fault);
  const application = createApplication({ routes, authorizeRequest, ids, log: requestLog, load, pace, onFault });
  return createHttpServer(application, ids, requestLog, timeouts);
}

export function createLoadLimit(): LoadLimit {
  const delay = new EventLoopDelay();
  return new LoadLimit(LOAD_LIMITS, () => delay.milliseconds);
}
