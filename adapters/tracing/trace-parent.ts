import { type SpanContext, TraceFlags } from '@opentelemetry/api';

// version "-" trace-id "-" parent-id "-" trace-flags; a later version may go on after another "-".
const TRACE_PARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/**
 * The span of the caller that a `traceparent` header names (W3C Trace Context section 3.2), or undefined where it is absent
 * or malformed. Two headers, which Node.js joins by a comma, are malformed. The header is a claim that anybody can make.
 */
export function parseTraceParent(header: unknown): SpanContext | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, spanId, flags, more] = TRACE_PARENT.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '', 16) & TraceFlags.SAMPLED, isRemote: true };
}
