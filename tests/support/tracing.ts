import { AsyncLocalStorage } from 'node:async_hooks';
import { type Attributes, type Context, context, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';

export interface RecordedSpan {
  readonly traceId: string;
  readonly spanId: string;
  name: string;
  /** Of `SpanStatusCode`: 0 unset, 2 error. */
  status: number;
  readonly attributes: Attributes;
}

/** Makes the API of OpenTelemetry know which span is active, as an SDK does. */
export function installContext(): void {
  const contexts = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => contexts.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => contexts.run(active, () => work.call(self as never, ...args)),
    bind: (_context, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
}

/** Does this in a span, and returns the span. */
export function inSpan(recorded: RecordedSpan, work: () => unknown, isRecording = true): RecordedSpan {
  const { traceId, spanId } = recorded;
  const span = {
    isRecording: () => isRecording,
    spanContext: () => ({ traceId, spanId, traceFlags: isRecording ? 1 : 0 }),
    updateName: (name: string) => Object.assign(recorded, { name }),
    setStatus: ({ code }: { readonly code: number }) => Object.assign(recorded, { status: code }),
    setAttribute: (name: string, value: string | number) => Object.assign(recorded.attributes, { [name]: value }),
  };
  context.with(trace.setSpan(ROOT_CONTEXT, span as unknown as Span), work);
  return recorded;
}
