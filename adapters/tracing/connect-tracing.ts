import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { ObservedPorts } from '../../application/ports/observed-ports.ts';
import { exportSpans, type OtlpHttpExporterOptions } from './export-spans.ts';
import { RequestTracing } from './request-tracing.ts';
import { SpanQueue, type SpanQueueOptions, type TraceExportChange } from './span-queue.ts';
import { tracedPorts } from './traced-ports.ts';

/** The values of OTEL_TRACES_SAMPLER. */
export type SamplerName = `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`;

/** How requests are traced. */
export interface TracingOptions {
  readonly exporter: OtlpHttpExporterOptions;
  readonly queue: SpanQueueOptions;
  readonly sampler: SamplerName;
  /** The part of the traces that a sampler with `ratio` in its name records, 0 to 1. */
  readonly ratio: number;
  /** What the spans are from (OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME). */
  readonly resource: Readonly<Record<string, string>>;
}

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
  const root = rootSampler(name, ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: SamplerName, ratio: number): Sampler {
  if (name.endsWith('always_on')) return new AlwaysOnSampler();
  if (name.endsWith('always_off')) return new AlwaysOffSampler();
  return new TraceIdRatioBasedSampler(ratio);
}
