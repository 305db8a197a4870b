import { startInMemory } from './candidates.ts';
import { findLoadGenerator } from './load-generator.ts';
import { runLoad, STANDARD_LOAD } from './measurement.ts';
import { MemoryLog, type MemorySample } from './process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, registrations } from './registrations.ts';
import { figure, machineLines, markdownList, median, say } from './report.ts';

export interface SoakOptions {
  readonly minutes: number;
  /** Of the same load, before memory is sampled. */
  readonly warmUpSeconds: number;
  readonly sampleEverySeconds: number;
}

/** How far the last quarter may be above the first; a garbage collector may run just before one of them. */
const GROWTH_FACTOR_MAX = 1.05;
const GROWTH_MB_MAX = 5;

/** `npm run bench -- soak`: memory under steady load. Returns whether it is stable. */
export async function runSoak(options: SoakOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const clients = registrations('client', STANDARD_LOAD.clients.count, await hashedSecret(RECOMMENDED_COST));
  const candidate = await startInMemory('memory', clients, opened);

  say(`${options.warmUpSeconds} s of warm-up, then ${options.minutes} min …`);
  await runLoad(candidate, generator, { ...STANDARD_LOAD, seconds: options.warmUpSeconds });
  const log = new MemoryLog(candidate.tree, options.sampleEverySeconds * 1000);
  const load = await runLoad(candidate, generator, { ...STANDARD_LOAD, seconds: Math.ceil(options.minutes * 60) });
  const samples = await log.end();
  if (samples.length < 4) throw new Error('too few samples of memory: run for longer, on a system with /proc');

  const trend = memoryTrend(samples);
  const lines = [
    ...machineLines(),
    `Load: ${generator.name}, ${STANDARD_LOAD.connections} connections, ${figure(options.minutes, 1)} min`,
    `Tokens: ${figure(load.tokens)}, ${figure(load.tokensPerSecond)}/s; failures: ${figure(load.failures)}`,
    `Memory, median of the first quarter: ${figure(trend.firstQuarter, 1)} MB`,
    `Memory, median of the last quarter: ${figure(trend.lastQuarter, 1)} MB`,
    `Slope: ${figure(trend.megabytesPerHour, 1)} MB/h over ${samples.length} samples`,
    `${trend.isStable ? 'passed' : 'FAILED'}: memory is stable`,
  ];
  process.stdout.write(`${markdownList(lines)}\n`);
  return trend.isStable && load.failures === 0;
}

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
