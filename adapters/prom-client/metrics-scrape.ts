import { Registry } from '@prometheus-io/client';
import type { Exposition, MetricsSnapshot } from '../../application/ports/telemetry.ts';
import { WorkerTotals } from '../../application/worker-totals.ts';
import { type Measure, MetricValues } from './metric-values.ts';
import type { ProcessMetrics } from './process-metrics.ts';

interface MetricsScrapeParts {
  readonly process: ProcessMetrics;
  /** The service as a whole. */
  readonly service: Measure;
  /** The metrics of each worker by its id; undefined for one that does not answer in time. */
  readonly workers: () => Promise<ReadonlyMap<number, MetricsSnapshot | undefined>>;
}

/**
 * Reads the metrics of the whole service, of all of its processes. Belongs in the process that has the verification queue. For
 * a worker that does not answer, the totals of its last answer count, and the gauges of its process are left out.
 */
export function metricsScrape({ process, service, workers }: MetricsScrapeParts): () => Promise<Exposition> {
  const totalsOf = (snapshot: MetricsSnapshot) => snapshot.filter((metric) => !isOfProcess(metric));
  const add = (one: MetricsSnapshot, other: MetricsSnapshot): Promise<MetricsSnapshot> =>
    Registry.aggregate([one, other]).getMetricsAsJSON();
  const workerTotals = new WorkerTotals({ ask: workers, totalsOf, add });
  return async () => {
    const { answers, totals } = await workerTotals.read();
    const ofWorkers = [...answers.values()].map((snapshot = []) => snapshot.filter(isOfProcess));
    const values = new MetricValues();
    await service(values);
    return exposition([await values.snapshot(), await process.snapshot(), ...ofWorkers, ...totals]);
  };
}

function isOfProcess({ values }: MetricsSnapshot[number]): boolean {
  return values.some(({ labels }) => 'process' in labels);
}

/**
 * Formats what several processes measured as the metrics of one service: values with the same name and the same labels are added up.
 * In the text format 0.0.4 of Prometheus.
 */
export async function exposition(snapshots: readonly MetricsSnapshot[]): Promise<Exposition> {
  const registry = Registry.aggregate([...snapshots]);
  return { contentType: registry.contentType, text: await registry.metrics() };
}
