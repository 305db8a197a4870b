import type { Counter, Histogram } from '@prometheus-io/client';

/** One value of a metric. Of a histogram, each bucket has its upper bound as the label `le`. */
export interface Series<Label extends string> {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<Label | 'le', string | number>>>;
  /** Of a histogram: its name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
}

/** The values of a metric, with labels that can only be those of the metric. */
export async function seriesOf<Label extends string>(
  metric: Counter<Label> | Histogram<Label>,
): Promise<readonly Series<Label>[]> {
  return (await metric.get()).values as readonly Series<Label>[];
}
