import { type Span, SpanStatusCode } from '@opentelemetry/api';

/** The methods that `http.request.method` may name; `_OTHER` stands for the rest. */
const METHODS = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'];

/** What the log says about a request. Nothing in it is secret, and it has a client id only if the client is registered. */
export interface DescribedRequest {
  readonly request_id: string;
  readonly method: string;
  /** The declared path of the matched route, or `none`. */
  readonly route: string;
  readonly status: number;
  readonly remote_address: string;
  readonly error?: string;
  readonly reason?: string;
  readonly client_id?: string;
  readonly token_id?: string;
}

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
export function describeRequest(span: Span, line: DescribedRequest): void {
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
