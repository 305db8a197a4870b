import type { IncomingMessage } from 'node:http';
import { failure, type Result, success } from '../../../domain/result.ts';
import type { HttpReason } from '../server/http-reasons.ts';

/** The Authorization header field, up to its scheme (RFC 9110 section 11.4). An empty one counts as absent. */
export type Authorization =
  | { readonly kind: 'absent' }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'malformed' }
  | PresentAuthorization;

export interface PresentAuthorization {
  readonly kind: 'present';
  readonly scheme: string;
  readonly credentials: string;
}

/** What the service reads of a request before its body. */
export interface RequestHead {
  readonly authorization: Authorization;
  /** Every value of each field, in order. */
  readonly contentEncodings: readonly string[];
  readonly contentTypes: readonly string[];
  /** The declared length of the body in bytes; 0 where none is declared. */
  readonly contentLength: number;
  /** Whether the request announces a body that is not empty (RFC 9112 section 6.3). */
  readonly hasBody: boolean;
}

export const EMPTY_HEAD: RequestHead = {
  authorization: { kind: 'absent' },
  contentEncodings: [],
  contentTypes: [],
  contentLength: 0,
  hasBody: false,
};

/** What a request may have of header fields: together with `: ` and a line end each, in bytes, and how many. */
export const HEADER_FIELDS = { maxBytes: 8 * 1024, max: 100 };

const SEPARATORS = ': \r\n'.length;

// The characters of uri-host [ ":" port ] (RFC 9110 section 7.2); empty where the target has no authority.
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

// auth-scheme [ 1*SP credentials ]; a scheme is a token of RFC 9110 section 5.6.2, here of 64 characters at most.
const AUTHORIZATION = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})(?: +(\S.*))?$/;

/**
 * Whether these fields, of a head or behind a body, are too many or too large. If too many, Node.js may have dropped
 * some.
 */
export function areTooLarge(fields: readonly string[]): boolean {
  if (fields.length > 2 * HEADER_FIELDS.max) return true;
  let bytes = (fields.length / 2) * SEPARATORS;
  for (const text of fields) bytes += text.length;
  return bytes > HEADER_FIELDS.maxBytes;
}

/**
 * Reads the head of a request, once, or says why it is refused: Node's parser accepts requests that RFC 9112 forbids,
 * and a proxy in front that reads such a request in another way could be used to smuggle one past it.
 */
export function readRequestHead(request: IncomingMessage): Result<RequestHead, HttpReason> {
  const { rawHeaders } = request;
  if (areTooLarge(rawHeaders)) return failure('header_fields_too_large');
  if (!isOneHost(valuesOf('host', rawHeaders), request.httpVersion)) return failure('host_malformed');

  const transferEncoding = request.headers['transfer-encoding'];
  if (!isPlainFraming(transferEncoding, request.httpVersion)) return failure('request_malformed');
  if (!isRequestTarget(request.url ?? '')) return failure('request_malformed');

  const contentLength = Number(request.headers['content-length'] ?? 0);
  return success({
    authorization: parseAuthorization(valuesOf('authorization', rawHeaders)),
    contentEncodings: valuesOf('content-encoding', rawHeaders),
    contentTypes: valuesOf('content-type', rawHeaders),
    contentLength,
    hasBody: transferEncoding !== undefined || contentLength > 0,
  });
}

/**
 * Lets go of the header fields of a request, and of those behind its body. Node.js keeps them until the response is
 * sent and the body has arrived, and many small ones need ten times their bytes. There is no method for it, but Node.js
 * lets these properties be assigned, and reads none of them again.
 */
export function releaseHeaderFields(request: IncomingMessage): void {
  request.rawHeaders = [];
  request.headers = {};
  request.rawTrailers = [];
}

/** The address that a connection comes from; IPv4 also where the system writes it as IPv6. */
export function connectionAddress({ socket }: Pick<IncomingMessage, 'socket'>): string {
  return withoutMapping(socket.remoteAddress ?? 'disconnected');
}

/** The IPv4 address behind an IPv4-mapped one (RFC 4291 section 2.5.5.2); any other address as it is. */
export function withoutMapping(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address;
}

/** Every value of a field. Node's `headers` keeps only the first of two Host, Authorization or Content-Type fields. */
export function valuesOf(name: string, rawHeaders: readonly string[]): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index] ?? '';
    if (field.length === name.length && field.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/** RFC 9112 section 3.2: an HTTP/1.1 request has exactly one well-formed Host. Its value is never used. */
function isOneHost([host, ...others]: readonly string[], httpVersion: string): boolean {
  if (host === undefined) return httpVersion === '1.0';
  return others.length === 0 && HOST.test(host);
}

/** Section 6.1: a known version, no transfer coding before HTTP/1.1, and none but `chunked`. */
function isPlainFraming(transferEncoding: string | undefined, httpVersion: string): boolean {
  if (httpVersion === '1.0') return transferEncoding === undefined;
  return httpVersion === '1.1' && (transferEncoding === undefined || transferEncoding.toLowerCase() === 'chunked');
}

/**
 * Section 3.2: `*`, a path or a whole URL with a host (RFC 9110 section 4.2.1). Servers disagree about fragments and
 * backslashes, and no valid target has one.
 */
function isRequestTarget(target: string): boolean {
  if (/[#\\]/.test(target)) return false;
  return target === '*' || target.startsWith('/') || (/^https?:\/\/[^/?]/i.test(target) && URL.canParse(target));
}

function parseAuthorization([value, ...others]: readonly string[]): Authorization {
  if (others.length > 0) return { kind: 'repeated' };
  if (!value) return { kind: 'absent' };
  const [, scheme, credentials = ''] = AUTHORIZATION.exec(value) ?? [];
  return scheme === undefined ? { kind: 'malformed' } : { kind: 'present', scheme, credentials };
}
