import type { OtlpHttpExporterOptions } from './export-spans.ts';
import type { SpanQueueOptions } from './span-queue.ts';

/** The values of OTEL_TRACES_SAMPLER. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

/** How requests are traced. This file loads nothing of OpenTelemetry. */
export interface TracingOptions {
  readonly exporter: OtlpHttpExporterOptions;
  readonly queue: SpanQueueOptions;
  readonly sampler: SamplerName;
  /** The part of the traces that a sampler with `ratio` in its name records, 0 to 1. */
  readonly ratio: number;
  /** What the spans are from (OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME). */
  readonly resource: Readonly<Record<string, string>>;
}
