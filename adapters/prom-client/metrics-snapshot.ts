import { type PrometheusContentType, Registry } from '@prometheus-io/client';

/** One metric at one moment, as the library gives it in JSON. Members that nothing here reads are not declared. */
export interface MetricSnapshot {
  readonly name: string;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Partial<Record<string, string | number>>>;
  }[];
}

/** All metrics of one registry at one moment: plain data, which can be sent from process to process. */
export type MetricsSnapshot = readonly MetricSnapshot[];

/** One registry of all snapshots: values with the same name and the same labels are added up. */
export function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): Registry<PrometheusContentType> {
  return Registry.aggregate([...snapshots]);
}
