import { type Exposition, exposition, type MetricsSnapshot } from './metrics-snapshot.ts';
import type { ProcessMetrics } from './process-metrics.ts';
import { type ServiceState, serviceMetrics } from './service-metrics.ts';
import { WorkerTotals } from './worker-totals.ts';

export interface MetricsScrapeParts {
  readonly process: ProcessMetrics;
  readonly service: () => ServiceState;
  /** The metrics of each worker by its id; undefined for one that does not answer in time. */
  readonly workers?: () => Promise<ReadonlyMap<number, MetricsSnapshot | undefined>>;
}

/** The metrics of the whole service, of all of its processes. Belongs in the process that has the verification queue. */
export class MetricsScrape {
  readonly #parts: MetricsScrapeParts;
  readonly #totals = new WorkerTotals();

  constructor(parts: MetricsScrapeParts) {
    this.#parts = parts;
  }

  /** For a worker that does not answer, the totals of its last answer count, and the gauges of its process are left out. */
  async scrape(): Promise<Exposition> {
    const { process, service } = this.#parts;
    const workers = (await this.#parts.workers?.()) ?? new Map<number, MetricsSnapshot>();
    const processes = [...workers].map(([id, snapshot]) => (snapshot ? this.#totals.take(id, snapshot) : []));
    const totals = await this.#totals.all(new Set(workers.keys()));
    const own = await Promise.all([serviceMetrics(service()), process.snapshot()]);
    return exposition([...own, ...processes, ...totals]);
  }
}
