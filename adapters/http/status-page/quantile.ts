import type { DurationCounts } from '../../../application/ports/telemetry.ts';

/**
 * A quantile of the durations between two readings, as `histogram_quantile` of Prometheus estimates it: the durations of a
 * bucket are taken for evenly distributed, and those above the last bound for equal to it. `null` without any.
 */
export function quantileBetween(before: DurationCounts = {}, after: DurationCounts, quantile: number): number | null {
  const counts = Object.entries(after)
    .map(([bound, count]) => ({
      bound: bound === '+Inf' ? Infinity : Number(bound),
      count: count - (before[bound] ?? 0),
    }))
    .sort((one, other) => one.bound - other.bound);
  const all = counts.at(-1)?.count ?? 0;
  if (all <= 0) return null;
  const rank = quantile * all;
  let [from, below] = [0, 0];
  for (const { bound, count } of counts) {
    if (count >= rank) return bound === Infinity ? from : from + (bound - from) * ((rank - below) / (count - below));
    [from, below] = [bound, count];
  }
  return null;
}
