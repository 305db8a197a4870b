import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { type Sampler, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Dependency, Readiness } from '../../application/ports/health-check.ts';
import type { RequestLine } from '../../application/ports/telemetry.ts';
import type { SpanQueue } from './span-queue.ts';

/** Milliseconds that the end of the process waits for the last spans. */
const LAST_SPANS_MS = 700;

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

interface RequestTracingOptions {
  readonly queue: SpanQueue;
  readonly sampler: Sampler;
  /** What the spans are from, `service.name` for one. */
  readonly resource: Attributes;
}

/**
 * Records a span for each request, and one for each of its steps below it. The current request is found by the context of
 * the asynchronous call, so that steps need no further argument.
 */
export class RequestTracing implements Dependency {
  readonly name = 'tracing';
  readonly #queue: SpanQueue;
  readonly #tracer: Tracer;
  readonly #current = new AsyncLocalStorage<Span>();

  constructor({ queue, sampler, resource }: RequestTracingOptions) {
    this.#queue = queue;
    const provider = new TracerProvider({
      sampler,
      spanProcessors: [queue],
      resource: resourceFromAttributes(resource),
      spanLimits: { attributeValueLengthLimit: 300 },
    });
    this.#tracer = provider.getTracer('requests');
  }

  get queue(): SpanQueue {
    return this.#queue;
  }

  /** The handler, with a span around each request. A caller's `traceparent` becomes the parent. */
  readonly around =
    (handle: RequestHandler): RequestHandler =>
    async (request, response) => {
      const parent = parseTraceParent(request.headers['traceparent']);
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
      const span = this.#tracer.startSpan(
        spanName(request.method),
        {
          kind: SpanKind.SERVER,
          attributes: { 'http.request.method': methodName(request.method), 'url.scheme': 'http' },
        },
        context,
      );
      try {
        await this.#current.run(span, () => handle(request, response));
      } finally {
        span.end();
      }
    };

  /** Describes the current request. Called with its line of the log. */
  describe(line: RequestLine): void {
    const span = this.#current.getStore();
    if (span?.isRecording() === true) describeRequest(span, line);
  }

  /** Members for a line of the log that is written during a request. */
  readonly logMembers = (): { trace_id?: string; span_id?: string } => {
    const context = this.#current.getStore()?.spanContext();
    return context === undefined ? {} : { trace_id: context.traceId, span_id: context.spanId };
  };

  /**
   * Does a step of the current request in a span of its own, and returns or throws what the step does. Outside of requests,
   * and if the request is not traced, it only does the step.
   *
   * @param attributesOf describes the outcome. No secret, and no client id that is not registered.
   */
  async step<Outcome>(
    name: string,
    work: () => Promise<Outcome>,
    attributesOf?: (outcome: Outcome) => Attributes,
  ): Promise<Outcome> {
    const parent = this.#current.getStore();
    if (parent?.isRecording() !== true) return work();
    const span = this.#tracer.startSpan(name, {}, contextOf(parent));
    try {
      const outcome = await work();
      if (attributesOf !== undefined) span.setAttributes(attributesOf(outcome));
      return outcome;
    } catch (fault) {
      // The message may say more than a trace should.
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', fault instanceof Error ? fault.name : 'unknown');
      throw fault;
    } finally {
      span.end();
    }
  }

  /** Always ready: without a collector the service still works. */
  readiness(): Readiness {
    const { fault } = this.#queue;
    if (fault === undefined) return { ready: true };
    const fix = 'start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT';
    return { ready: true, note: { code: fault, text: `spans are lost: ${fault}`, fix } };
  }

  close(): Promise<void> {
    return this.#queue.close(LAST_SPANS_MS);
  }
}

function contextOf(span: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, span);
}

/** The methods that `http.request.method` may name; `_OTHER` stands for the rest. */
const METHODS = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'];

function methodName(method = ''): string {
  return METHODS.includes(method) ? method : '_OTHER';
}

/** The method and the route, if there is one. */
function spanName(method: string | undefined, route?: string): string {
  const known = methodName(method).replace('_OTHER', 'HTTP');
  return route === undefined ? known : `${known} ${route}`;
}

/**
 * Sets the attributes of a request's span: those of the semantic conventions for HTTP, and ours, which begin with `auth.`. A
 * refusal is the fault of the caller, and so no error of the span.
 */
function describeRequest(span: Span, line: RequestLine): void {
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
