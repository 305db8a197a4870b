import type { MemorySample } from './process-tree.ts';
import { median } from './report.ts';

/** How far the last quarter may be above the first; a garbage collector may run just before one of them. */
const GROWTH_FACTOR_MAX = 1.05;
const GROWTH_MB_MAX = 5;

export interface MemoryTrend {
  /** Medians in megabytes. */
  readonly firstQuarter: number;
  readonly lastQuarter: number;
  /** Slope of the least-squares line through all samples. */
  readonly megabytesPerHour: number;
  readonly isStable: boolean;
}

/** @param samples at least four, oldest first. */
export function memoryTrend(samples: readonly MemorySample[]): MemoryTrend {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const firstQuarter = median(samples.slice(0, quarter).map(({ megabytes }) => megabytes));
  const lastQuarter = median(samples.slice(-quarter).map(({ megabytes }) => megabytes));
  return {
    firstQuarter,
    lastQuarter,
    megabytesPerHour: slope(samples) * 3600,
    isStable: lastQuarter <= firstQuarter * GROWTH_FACTOR_MAX + GROWTH_MB_MAX,
  };
}

/** Megabytes per second. */
function slope(samples: readonly MemorySample[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(samples.map(({ seconds }) => seconds));
  const level = mean(samples.map(({ megabytes }) => megabytes));
  const spread = samples.reduce((sum, { seconds }) => sum + (seconds - middle) ** 2, 0);
  const common = samples.reduce((sum, { seconds, megabytes }) => sum + (seconds - middle) * (megabytes - level), 0);
  return common / spread;
}
