import { type PrometheusContentType, Registry } from '@prometheus-io/client';
import type { MetricsSnapshot } from '../../application/ports/telemetry.ts';

/** One registry of all snapshots: values with the same name and the same labels are added up. */
export function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): Registry<PrometheusContentType> {
  return Registry.aggregate([...snapshots]);
}

/** Metrics as a scraper receives them, in the text format 0.0.4 of Prometheus. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** Formats what several processes measured as the metrics of one service. */
export async function exposition(snapshots: readonly MetricsSnapshot[]): Promise<Exposition> {
  const registry = mergeSnapshots(snapshots);
  return { contentType: registry.contentType, text: await registry.metrics() };
}
