import { type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import type { RequestLine } from '../../application/ports/telemetry.ts';

/** The longest attribute, in characters. */
const ATTRIBUTE_MAX = 300;

/**
 * Describes a request on the span that is active: that of an SDK of OpenTelemetry which the operator has loaded before
 * the service. Without one, there is no span. Called with the request's line of the log, so that a trace says nothing
 * that the log may not: what an instrumentation took from the path and the query, where callers put secrets, is
 * replaced.
 */
export function describeRequest(line: RequestLine): void {
  const span = trace.getActiveSpan();
  if (span?.isRecording() === true) describe(span, line);
}

/** Fields for a line of the log that is written during a request: its trace, whether it is recorded or not. */
export function traceFields(): { readonly trace_id?: string; readonly span_id?: string } {
  const context = trace.getActiveSpan()?.spanContext();
  return context === undefined ? {} : { trace_id: context.traceId, span_id: context.spanId };
}

/** A refusal is the fault of the caller, and so no error of the span (semantic conventions for HTTP). */
function describe(span: Span, { method, status, ...line }: RequestLine): void {
  const route = line.route === 'none' ? undefined : line.route;
  if (route !== undefined) span.updateName(`${method} ${route}`);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  const attributes = {
    'http.response.status_code': status,
    'http.route': route,
    'url.path': line.route,
    'url.query': '',
    'client.address': line.remote_address,
    'error.type': status >= 500 ? (line.reason ?? String(status)) : undefined,
    'auth.request_id': line.request_id,
    'auth.error': line.error,
    'auth.reason': line.reason,
    'auth.client_id': line.client_id,
    'auth.token_id': line.token_id,
  };
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) span.setAttribute(name, typeof value === 'string' ? value.slice(0, ATTRIBUTE_MAX) : value);
  }
}
