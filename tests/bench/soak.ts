import { startInMemory } from './candidates.ts';
import { writePicture } from './drawing/write-picture.ts';
import { findLoadGenerator } from './load-generator.ts';
import { runLoad, STANDARD_LOAD } from './measurement.ts';
import { memoryTrend } from './memory-trend.ts';
import { MemoryLog } from './process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, registrations } from './registrations.ts';
import { figure, machineLines, machineText, markdownList, say } from './report.ts';
import { soakChart } from './soak-chart.ts';

export interface SoakOptions {
  readonly minutes: number;
  /** Of the same load, before memory is sampled. */
  readonly warmUpSeconds: number;
  readonly sampleEverySeconds: number;
  /** Whether docs/images/soak.svg is drawn again. */
  readonly write: boolean;
}

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
  if (options.write) {
    const { minutes, warmUpSeconds, sampleEverySeconds } = options;
    const conditions = [
      `${STANDARD_LOAD.connections} connections as fast as they are answered, ${figure(load.tokensPerSecond)} tokens/s. ${figure(warmUpSeconds)} s of warm-up are not shown. Registrations in memory.`,
      `${machineText()}. Drawn by: npm run bench -- soak --minutes ${minutes} --warm-up-seconds ${warmUpSeconds} --every-seconds ${sampleEverySeconds} --write`,
    ];
    await writePicture('soak.svg', soakChart({ samples, trend, minutes, tokens: load.tokens, conditions }));
  }
  return trend.isStable && load.failures === 0;
}
