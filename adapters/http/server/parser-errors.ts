import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { IdGenerator } from '../../../application/ports/id-generator.ts';
import type { RequestCounter, RequestLog } from '../../../application/ports/telemetry.ts';
import { areTooLarge, connectionAddress } from '../parsing/request-head.ts';
import type { HttpReason } from './http-reasons.ts';
import {
  type ErrorResponse,
  type HttpRefusal,
  httpRefusal,
  RESPONSE_HEADERS,
  RESPONSES,
  refusalBody,
} from './http-refusal.ts';

/** One open connection, as the server tracks it. */
export interface Connection {
  readonly socket: Socket;
  /** The latest request, until it has arrived and is answered. */
  request?: IncomingMessage | undefined;
  /** Its response, until it is sent. */
  response?: ServerResponse | undefined;
  /** Whether the client has sent a request before this response, which is the last one then. */
  isRefused?: boolean;
  /** Whether the latest response was a success of a client that had authenticated. */
  isServed?: boolean;
}

export interface ParserErrorParts {
  readonly ids: IdGenerator;
  readonly log: RequestLog;
  /** Where the server counts requests. Must not throw. */
  readonly metrics?: RequestCounter;
}

/** The reasons by the code of the parser's error; any other code is a malformed request. */
const REASONS: Readonly<Record<string, HttpReason>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'header_fields_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'content_too_large',
  ECONNRESET: 'client_disconnected',
  EPIPE: 'client_disconnected',
  HPE_INVALID_EOF_STATE: 'client_disconnected',
};

const refusedByParser = new WeakMap<IncomingMessage, HttpRefusal>();

/** The refusal behind an error of Node's parser while this request was read, such as a slow body. */
export function parserRefusalOf(request: IncomingMessage): HttpRefusal | undefined {
  return refusedByParser.get(request);
}

/**
 * Answers an error of Node's HTTP parser in the application's own form: JSON, an id and a log line, where Node would
 * send plain text or nothing. Covers malformed requests (400), slow ones (408), large headers (431) and large chunk
 * extensions (413).
 */
export function answerParserError(
  error: NodeJS.ErrnoException,
  { socket, request, response }: Connection,
  parts: ParserErrorParts,
): void {
  const refusal = httpRefusal(REASONS[error.code ?? ''] ?? 'request_malformed');
  if (!socket.writable || refusal.reason === 'client_disconnected') {
    if (request?.complete === false) refusedByParser.set(request, refusal);
    socket.destroy();
  } else if (response === undefined) {
    // A response that did not wait for the whole body was the last one.
    if (request?.complete === false) socket.destroy();
    else answerAndLog(socket, refusal, parts);
  } else if (response.req.complete) {
    // The request before the error is well-formed: it gets its response, which ends the connection.
    if (!response.headersSent) response.setHeader('Connection', 'close');
    response.once('finish', () => socket.end());
    logRefusal(refusal, parts.ids.uuid(), socket, parts);
  } else {
    // The error is in the body of the request in progress, which is logged when it fails.
    refusedByParser.set(response.req, refusal);
    if (response.headersSent) socket.destroy();
    else writeRefusal(socket, refusal, String(response.getHeader('X-Request-Id')));
  }
}

/**
 * Answers CONNECT (RFC 9110 section 9.3.6), for which Node.js hands over a bare socket, with the 401 of a request
 * without a token.
 */
export function refuseTunnel({ socket, rawHeaders }: IncomingMessage, parts: ParserErrorParts): void {
  // Node no longer handles them for this socket.
  for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
  const refusal = areTooLarge(rawHeaders)
    ? httpRefusal('header_fields_too_large')
    : httpRefusal('token_missing', { 'WWW-Authenticate': 'Bearer' });
  answerAndLog(socket, refusal, parts);
}

/**
 * Ends a connection when the server cannot wait any longer: with 503 if a request is in progress whose response has not
 * begun, so that its caller gets a response and not a reset.
 */
export function endConnection({ socket, response }: Connection): void {
  if (response === undefined || response.headersSent || !response.req.complete || !socket.writable) socket.destroy();
  else writeRefusal(socket, httpRefusal('dependency_unavailable'), String(response.getHeader('X-Request-Id')));
}

function answerAndLog(socket: Socket, refusal: HttpRefusal, parts: ParserErrorParts): void {
  const requestId = parts.ids.uuid();
  writeRefusal(socket, refusal, requestId);
  logRefusal(refusal, requestId, socket, parts);
}

function logRefusal(refusal: HttpRefusal, requestId: string, socket: Socket, parts: ParserErrorParts): void {
  const { status, error } = RESPONSES[refusal.code];
  const line = {
    request_id: requestId,
    method: 'unparsed',
    route: 'none',
    status,
    duration_ms: 0,
    remote_address: connectionAddress({ socket }),
    error,
    reason: refusal.reason,
  };
  parts.metrics?.count(line);
  parts.log.info(line);
}

function writeRefusal(socket: Socket, refusal: HttpRefusal, requestId: string): void {
  const { status, retryAfter }: ErrorResponse = RESPONSES[refusal.code];
  const body = JSON.stringify(refusalBody(refusal));
  const headers = {
    Date: new Date().toUTCString(),
    ...RESPONSE_HEADERS,
    'X-Request-Id': requestId,
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    ...refusal.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}
