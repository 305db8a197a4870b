import { Registry } from '@prometheus-io/client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';
import { registerProcessGauges } from './process-gauges.ts';
import { RequestMetrics } from './request-metrics.ts';

/** What one process measures: the requests that it answers, and itself. */
export class ProcessMetrics {
  readonly #registry = new Registry();
  /** Counts a request; see {@link RequestMetrics}. */
  readonly count = new RequestMetrics(this.#registry).count;

  /** @param process label `process` of the metrics that describe the process itself. */
  constructor(process: string) {
    registerProcessGauges(this.#registry, process);
  }

  /** The event loop delays cover the time since the last call. */
  snapshot(): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON();
  }
}
