import { median } from '../figures/median.ts';
import type { MemorySample } from '../machine/memory-log.ts';

/** How much the last quarter may lie above the first: what a garbage collector leaves one time and not the other. */
const GROWTH_FACTOR_MAX = 1.05;
const GROWTH_MB_MAX = 5;

export interface MemoryTrend {
  /** Medians in megabytes. */
  readonly firstQuarter: number;
  readonly lastQuarter: number;
  /** Of the line that fits all samples best (least squares). */
  readonly megabytesPerHour: number;
  /** Whether memory stays where it is. */
  readonly holds: boolean;
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
    holds: lastQuarter <= firstQuarter * GROWTH_FACTOR_MAX + GROWTH_MB_MAX,
  };
}

/** Megabytes a second. */
function slope(samples: readonly MemorySample[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(samples.map(({ seconds }) => seconds));
  const level = mean(samples.map(({ megabytes }) => megabytes));
  const spread = samples.reduce((sum, { seconds }) => sum + (seconds - middle) ** 2, 0);
  const common = samples.reduce((sum, { seconds, megabytes }) => sum + (seconds - middle) * (megabytes - level), 0);
  return common / spread;
}
