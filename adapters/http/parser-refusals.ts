import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import { ANSWERS, type HttpRefusal, httpRefusal, refusalBody } from './refusals.ts';
import type { RequestLog } from './request-log.ts';

const refusedByParser = new WeakMap<IncomingMessage, HttpRefusal>();

/** The refusal that Node's HTTP parser caused while this request was being handled, such as a body that came too slowly. */
export function parserRefusalOf(request: IncomingMessage): HttpRefusal | undefined {
  return refusedByParser.get(request);
}

/**
 * Gives what Node's HTTP parser refuses an answer of our own form: JSON, an id, a log line. Node's is plain text or none.
 * Covers malformed requests (400), slow ones (408), large headers (431), large chunk extensions (413) and CONNECT (401).
 */
export function answerParserErrors(server: Server, ids: IdGenerator, log: RequestLog): void {
  const unanswered = new WeakMap<Duplex, ServerResponse>();

  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    unanswered.set(request.socket, response);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const refusal = refusalOf(error);
    const response = unanswered.get(socket);
    if (response !== undefined && !response.writableFinished) {
      // A request is under way, whose own line will be logged; its answer takes the place of this one once it has begun.
      refusedByParser.set(response.req, refusal);
      if (response.headersSent || !socket.writable) socket.destroy();
      else writeRefusal(socket, refusal, String(response.getHeader('X-Request-Id')));
      return;
    }
    if (!socket.writable) return void socket.destroy();
    answer(socket, refusal);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    answer(socket, httpRefusal('token_missing', { 'WWW-Authenticate': 'Bearer' }));
  });

  function answer(socket: Duplex, refusal: HttpRefusal): void {
    const requestId = ids.uuid();
    writeRefusal(socket, refusal, requestId);
    log({
      request_id: requestId,
      method: 'unparsed',
      route: 'none',
      status: ANSWERS[refusal.code].status,
      duration_ms: 0,
      remote_address: ('remoteAddress' in socket && String(socket.remoteAddress)) || 'gone',
      error: ANSWERS[refusal.code].error,
      reason: refusal.reason,
    });
  }
}

function refusalOf(error: NodeJS.ErrnoException): HttpRefusal {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return httpRefusal('request_timeout');
    case 'HPE_HEADER_OVERFLOW':
      return httpRefusal('header_fields_too_large');
    case 'ECONNRESET':
    case 'EPIPE':
    case 'HPE_INVALID_EOF_STATE':
      return httpRefusal('caller_gone');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return httpRefusal('content_too_large');
    default:
      return httpRefusal('request_malformed');
  }
}

function writeRefusal(socket: Duplex, refusal: HttpRefusal, requestId: string): void {
  const { status } = ANSWERS[refusal.code];
  const body = JSON.stringify(refusalBody(refusal));
  const headers = {
    Date: new Date().toUTCString(),
    'Cache-Control': 'no-store',
    Pragma: 'no-cache',
    'X-Request-Id': requestId,
    ...refusal.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}
