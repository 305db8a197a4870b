import { AggregatorRegistry, type PrometheusContentType, type Registry } from 'prom-client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

/** One registry of all: values with the same name and the same labels are added up. */
export function combine(snapshots: readonly MetricsSnapshot[]): Registry<PrometheusContentType> {
  return AggregatorRegistry.aggregate([...snapshots]);
}
