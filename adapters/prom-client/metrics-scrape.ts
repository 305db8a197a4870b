import { type Exposition, exposition, type MetricsSnapshot, mergeSnapshots } from './metrics-snapshot.ts';
import type { MetricsReader, ProcessMetrics } from './process-metrics.ts';
import { type ServiceState, serviceMetrics } from './service-metrics.ts';
import { WorkerTotals } from './worker-totals.ts';

export interface MetricsScrapeParts {
  readonly process: ProcessMetrics;
  readonly service: () => ServiceState;
  /** The metrics of each worker by its id; undefined for one that does not answer in time. */
  readonly workers?: (reader: MetricsReader) => Promise<ReadonlyMap<number, MetricsSnapshot | undefined>>;
}

/** The metrics of the whole service, of all of its processes. Belongs in the process that has the verification queue. */
export class MetricsScrape {
  readonly #parts: MetricsScrapeParts;
  readonly #totals = new WorkerTotals();
  /** The number of readings so far. */
  #readings = 0;

  constructor(parts: MetricsScrapeParts) {
    this.#parts = parts;
  }

  /** For a worker that does not answer, the totals of its last answer count, and the gauges of its process are left out. */
  async scrape(): Promise<Exposition> {
    return exposition(await this.#read('scrape'));
  }

  /** The same as data, for the status page. A scrape does not notice. */
  async measure(): Promise<MetricsSnapshot> {
    return mergeSnapshots(await this.#read('status')).getMetricsAsJSON();
  }

  async #read(reader: MetricsReader): Promise<readonly MetricsSnapshot[]> {
    const { process, service } = this.#parts;
    this.#readings += 1;
    const reading = this.#readings;
    const workers = (await this.#parts.workers?.(reader)) ?? new Map<number, MetricsSnapshot>();
    const processes = [...workers].map(([id, snapshot]) => (snapshot ? this.#totals.take(id, snapshot, reading) : []));
    const totals = await this.#totals.all(new Set(workers.keys()));
    const own = await Promise.all([serviceMetrics(service()), process.snapshot(reader)]);
    return [...own, ...processes, ...totals];
  }
}
