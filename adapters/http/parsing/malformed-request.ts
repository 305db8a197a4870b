import type { IncomingMessage } from 'node:http';
import type { HttpReason } from '../server/refusals.ts';
import { fieldValues } from './header-fields.ts';

// The characters of uri-host [ ":" port ] (RFC 9110 section 7.2); empty where the target has no authority.
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/** RFC 9112 section 3.2: an HTTP/1.1 request has exactly one well-formed Host. Its value is never used. */
function hasOneHost(request: IncomingMessage): boolean {
  const hosts = fieldValues(request, 'host');
  const [host] = hosts;
  if (host === undefined) return request.httpVersion === '1.0';
  return hosts.length === 1 && HOST.test(host);
}

/**
 * What Node's parser lets pass and RFC 9112 does not: a front server that reads such a request otherwise than we do could
 * be led to let one through. Undefined where the request is well-formed.
 */
export function malformationOf(request: IncomingMessage): HttpReason | undefined {
  if (!hasOneHost(request)) return 'host_malformed';
  return isKnownVersion(request) && isPlainFraming(request) && isRequestTarget(request.url ?? '')
    ? undefined
    : 'request_malformed';
}

function isKnownVersion({ httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' || httpVersion === '1.0';
}

/** Section 6.1: no transfer coding before HTTP/1.1, and none but `chunked`. */
function isPlainFraming(request: IncomingMessage): boolean {
  const codings = request.headers['transfer-encoding'];
  return codings === undefined || (request.httpVersion === '1.1' && codings.toLowerCase() === 'chunked');
}

/** Section 3.2: `*`, a path or a whole URL. A fragment and a backslash are part of none, and would be read in different ways. */
function isRequestTarget(target: string): boolean {
  if (/[#\\]/.test(target)) return false;
  return target === '*' || target.startsWith('/') || (/^https?:\/\//i.test(target) && URL.canParse(target));
}
