import { Registry } from 'prom-client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';
import { registerProcessGauges } from './process-gauges.ts';
import { type MeasuredRequest, RequestMetrics } from './request-metrics.ts';

/** What one process measures: the requests that it answers, and itself. */
export class ProcessMetrics {
  readonly #registry = new Registry();
  readonly #requests = new RequestMetrics(this.#registry);

  /** @param process label `process` of what is said of the process itself. */
  constructor(process: string) {
    registerProcessGauges(this.#registry, process);
  }

  /** Must not throw, and costs next to nothing: it is called for every request. */
  readonly count = (request: MeasuredRequest): void => this.#requests.count(request);

  /** The delays of the event loop are those since the last call. */
  snapshot(): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON();
  }
}
