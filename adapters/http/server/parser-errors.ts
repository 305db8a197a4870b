import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { IdGenerator } from '../../../application/ports/id-generator.ts';
import { ANSWERS, type HttpRefusal, httpRefusal, refusalBody } from './refusals.ts';
import type { RequestCounter, RequestLog } from './request-log.ts';

/** One open connection, as the server tracks it. */
export interface Connection {
  readonly socket: Socket;
  /** The responses that are not sent yet, oldest first. */
  readonly unsent: ServerResponse[];
  lastRequest?: IncomingMessage;
}

export interface ParserErrorParts {
  readonly ids: IdGenerator;
  readonly log: RequestLog;
  readonly metrics?: RequestCounter;
}

const refusedByParser = new WeakMap<IncomingMessage, HttpRefusal>();

/** The refusal behind an error of Node's HTTP parser while this request was read, such as a body that arrived too slowly. */
export function parserRefusalOf(request: IncomingMessage): HttpRefusal | undefined {
  return refusedByParser.get(request);
}

/**
 * Answers an error of Node's HTTP parser in the application's own form: JSON, an id and a log line, where Node would send
 * plain text or nothing. Covers malformed requests (400), slow ones (408), large headers (431) and large chunk extensions (413).
 */
export function answerParserError(
  error: NodeJS.ErrnoException,
  { socket, unsent, lastRequest: request }: Connection,
  parts: ParserErrorParts,
): void {
  const refusal = refusalOf(error);
  const response = unsent.at(-1);
  if (!socket.writable || refusal.reason === 'client_disconnected') {
    if (request?.complete === false) refusedByParser.set(request, refusal);
    socket.destroy();
  } else if (response === undefined) {
    // A response that did not wait for the whole body was the last one.
    if (request?.complete === false) socket.destroy();
    else answer(socket, refusal, parts);
  } else if (response.req.complete) {
    // The request before the error is well-formed: it gets its response, which ends the connection.
    endAfter(response, socket);
    logRefusal(refusal, parts.ids.uuid(), socket, parts);
  } else {
    // The error is in the body of the request in progress, which is logged when it fails.
    refusedByParser.set(response.req, refusal);
    if (unsent.length > 1 || response.headersSent) socket.destroy();
    else writeRefusal(socket, refusal, String(response.getHeader('X-Request-Id')));
  }
}

/** Refuses CONNECT, which Node hands over as a bare socket (RFC 9110 section 9.3.6), as any path without a token: 401. */
export function refuseTunnel(socket: Socket, parts: ParserErrorParts): void {
  socket.on('error', () => socket.destroy());
  answer(socket, httpRefusal('token_missing', { 'WWW-Authenticate': 'Bearer' }), parts);
}

function answer(socket: Socket, refusal: HttpRefusal, parts: ParserErrorParts): void {
  const requestId = parts.ids.uuid();
  writeRefusal(socket, refusal, requestId);
  logRefusal(refusal, requestId, socket, parts);
}

function logRefusal(
  { code, reason }: HttpRefusal,
  requestId: string,
  socket: Socket,
  { log, metrics }: ParserErrorParts,
): void {
  const line = {
    request_id: requestId,
    method: 'unparsed',
    route: 'none',
    status: ANSWERS[code].status,
    duration_ms: 0,
    remote_address: socket.remoteAddress ?? 'disconnected',
    error: ANSWERS[code].error,
    reason,
  };
  metrics?.count(line);
  log.info(line);
}

function endAfter(response: ServerResponse, socket: Socket): void {
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
      return httpRefusal('client_disconnected');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return httpRefusal('content_too_large');
    default:
      return httpRefusal('request_malformed');
  }
}

function writeRefusal(socket: Socket, refusal: HttpRefusal, requestId: string): void {
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
