import { type Span, SpanStatusCode } from '@opentelemetry/api';
import type { RequestLine } from '../../application/ports/telemetry.ts';

/** The methods that `http.request.method` may name; `_OTHER` stands for the rest. */
const METHODS = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'];

export function methodName(method = ''): string {
  return METHODS.includes(method) ? method : '_OTHER';
}

/** The method and the route, if there is one. */
export function spanName(method: string | undefined, route?: string): string {
  const known = methodName(method).replace('_OTHER', 'HTTP');
  return route === undefined ? known : `${known} ${route}`;
}

/**
 * Sets the attributes of a request's span: those of the semantic conventions for HTTP, and ours, which begin with `auth.`. A
 * refusal is the fault of the caller, and so no error of the span.
 */
export function describeRequest(span: Span, line: RequestLine): void {
  const { method, status } = line;
  const route = line.route === 'none' ? undefined : line.route;
  span.updateName(spanName(method, route));
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttributes({
    'http.response.status_code': status,
    'client.address': line.remote_address,
    'auth.request_id': line.request_id,
    ...(route !== undefined && { 'http.route': route }),
    ...(status >= 500 && { 'error.type': line.reason ?? String(status) }),
    ...(line.error !== undefined && { 'auth.error': line.error }),
    ...(line.reason !== undefined && { 'auth.reason': line.reason }),
    ...(line.client_id !== undefined && { 'auth.client_id': line.client_id }),
    ...(line.token_id !== undefined && { 'auth.token_id': line.token_id }),
  });
}
