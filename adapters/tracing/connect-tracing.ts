import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { ObservedPorts } from '../../application/ports/observed-ports.ts';
import { exportSpans } from './export-spans.ts';
import { RequestTracing } from './request-tracing.ts';
import { SpanQueue, type TraceExportChange } from './span-queue.ts';
import { tracedPorts } from './traced-ports.ts';
import type { SamplerName, TracingOptions } from './tracing-options.ts';

interface OpenedTracing {
  readonly requests: RequestTracing;
  readonly ports: ObservedPorts;
}

/** Loads OpenTelemetry and connects its parts. Sends nothing before the first request. */
export function connectTracing(
  { exporter, queue, sampler, ratio, resource }: TracingOptions,
  log: (change: TraceExportChange) => void,
): OpenedTracing {
  const requests = new RequestTracing({
    queue: new SpanQueue(queue, (spans, stopped) => exportSpans(exporter, spans, stopped), log),
    sampler: createSampler(sampler, ratio),
    resource: { ...resource, 'process.pid': process.pid },
  });
  return { requests, ports: tracedPorts(requests) };
}

/** Decides which requests are traced. @param ratio of those that nothing else decides, 0 to 1. */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}
