import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { IdGenerator } from '../../../application/ports/id-generator.ts';
import { ANSWERS, type HttpRefusal, httpRefusal, refusalBody } from './refusals.ts';
import type { RequestLog } from './request-log.ts';

/** Requests that a connection may have under way at once; who pipelines more is cut off, since each costs memory unread. */
const PIPELINED_MAX = 16;

const refusedByParser = new WeakMap<IncomingMessage, HttpRefusal>();

/** The refusal that Node's HTTP parser caused while this request was being read, such as a body that came too slowly. */
export function parserRefusalOf(request: IncomingMessage): HttpRefusal | undefined {
  return refusedByParser.get(request);
}

/**
 * Gives what Node's HTTP parser refuses an answer of our own form: JSON, an id, a log line. Node's is plain text or none.
 * Covers malformed requests (400), slow ones (408), large headers (431), large chunk extensions (413) and CONNECT (401).
 */
export function answerParserErrors(server: Server, ids: IdGenerator, log: RequestLog): void {
  /** The responses of each connection that are not sent yet, oldest first. */
  const unsent = new WeakMap<Duplex, ServerResponse[]>();
  const last = new WeakMap<Duplex, IncomingMessage>();

  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const responses = unsent.get(socket) ?? [];
    unsent.set(socket, responses);
    last.set(socket, request);
    responses.push(response);
    response.once('close', () => responses.splice(responses.indexOf(response), 1));
    if (responses.length > PIPELINED_MAX) socket.destroy();
    // Node discards what came behind a request for an upgrade that it does not make; so nothing may come behind it.
    if (request.headers.upgrade !== undefined) response.setHeader('Connection', 'close');
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const refusal = refusalOf(error);
    const request = last.get(socket);
    const responses = unsent.get(socket) ?? [];
    const response = responses.at(-1);
    if (!socket.writable || refusal.reason === 'caller_gone') {
      if (request?.complete === false) refusedByParser.set(request, refusal);
      socket.destroy();
    } else if (response === undefined) {
      // After an answer that did not wait for the whole body there is nothing more to say.
      if (request?.complete === false) socket.destroy();
      else answer(socket, refusal);
    } else if (response.req.complete) {
      // What came before is well-formed: it gets its answer, and the connection ends with it.
      endAfter(response, socket);
      logRefusal(refusal, ids.uuid(), socket);
    } else {
      // The error is in the body of the request that is under way, whose own line is logged.
      refusedByParser.set(response.req, refusal);
      if (responses.length > 1 || response.headersSent) socket.destroy();
      else writeRefusal(socket, refusal, String(response.getHeader('X-Request-Id')));
    }
  });

  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    answer(socket, httpRefusal('token_missing', { 'WWW-Authenticate': 'Bearer' }));
  });

  function answer(socket: Duplex, refusal: HttpRefusal): void {
    const requestId = ids.uuid();
    writeRefusal(socket, refusal, requestId);
    logRefusal(refusal, requestId, socket);
  }

  function logRefusal({ code, reason }: HttpRefusal, requestId: string, socket: Duplex): void {
    log({
      request_id: requestId,
      method: 'unparsed',
      route: 'none',
      status: ANSWERS[code].status,
      duration_ms: 0,
      remote_address: ('remoteAddress' in socket && String(socket.remoteAddress)) || 'gone',
      error: ANSWERS[code].error,
      reason,
    });
  }
}

function endAfter(response: ServerResponse, socket: Duplex): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
  response.once('finish', () => socket.end());
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
