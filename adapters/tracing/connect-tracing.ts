import type { ObservedPorts } from '../../application/ports/observed-ports.ts';
import { createSampler } from './create-sampler.ts';
import { OtlpHttpExporter } from './otlp-http-exporter.ts';
import { RequestTracing } from './request-tracing.ts';
import { SpanQueue, type TraceExportChange } from './span-queue.ts';
import { tracedPorts } from './traced-ports.ts';
import type { TracingOptions } from './tracing-options.ts';

interface OpenedTracing {
  readonly requests: RequestTracing;
  readonly ports: ObservedPorts;
}

/** Loads OpenTelemetry and connects its parts. Sends nothing before the first request. */
export function connectTracing(
  { exporter, queue, sampler, ratio, resource }: TracingOptions,
  log: (change: TraceExportChange) => void,
): OpenedTracing {
  const otlp = new OtlpHttpExporter(exporter);
  const requests = new RequestTracing({
    queue: new SpanQueue(queue, (spans, stopped) => otlp.send(spans, stopped), log),
    sampler: createSampler(sampler, ratio),
    resource: { ...resource, 'process.pid': process.pid },
  });
  return { requests, ports: tracedPorts(requests) };
}
