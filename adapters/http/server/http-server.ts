import { createServer, type Server } from 'node:http';
import type Koa from 'koa';
import type { IdGenerator } from '../../../application/ports/id-generator.ts';
import type { ExchangeState } from './exchange.ts';
import { answerParserErrors } from './parser-errors.ts';
import type { RequestLog } from './request-log.ts';

/** How long a caller may take, in milliseconds. Node's own limits let one hang for five minutes. */
export interface HttpTimeouts {
  /** For the header section. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** Between two requests on a connection; longer than the common 60 s of load balancers, who then close first. */
  readonly keepAliveMs: number;
  /** How often the first two are looked at. */
  readonly checkEveryMs: number;
}

export const HTTP_TIMEOUTS: HttpTimeouts = {
  headersMs: 10_000,
  requestMs: 15_000,
  keepAliveMs: 65_000,
  checkEveryMs: 1_000,
};

/** Beyond it a connection is closed at once; each that is open costs about 20 KiB. */
const CONNECTIONS_MAX = 10_000;

const HEADER_FIELDS_MAX_BYTES = 16 * 1024;

/** A Node HTTP server, not yet listening, that answers nothing in another form than the application's own. */
export function createHttpServer(
  application: Koa<ExchangeState>,
  ids: IdGenerator,
  log: RequestLog,
  timeouts: HttpTimeouts,
): Server {
  const server = createServer({
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    maxHeaderSize: HEADER_FIELDS_MAX_BYTES,
    // Node answers a missing Host without a body; exchange.ts does it in our form.
    requireHostHeader: false,
  });
  const handle = application.callback();
  server.on('request', handle);
  // What a caller expects is no other kind of request. An expectation that we do not know is ignored, as RFC 9110 section
  // 10.1.1 lets us, instead of answered 417 without a body; `100-continue` is answered when the body is wanted.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => server.emit('request', request, response));
  }
  server.maxConnections = CONNECTIONS_MAX;
  // A worker would else hand the connection on to the next, for ever where all are full. Not in the types yet.
  Object.assign(server, { dropMaxConnection: true });
  answerParserErrors(server, ids, log);
  return server;
}
