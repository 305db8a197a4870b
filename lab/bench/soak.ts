import { startInMemory } from './candidates.ts';
import type { Options } from './command-line.ts';
import { findLoadGenerator } from './load-generator.ts';
import { runLoad, STANDARD_LOAD } from './measurement.ts';
import { sampleMemory } from './process-tree.ts';
import { hashedSecret, RECOMMENDED_COST, registrations } from './registrations.ts';
import { conditions, figure, median, print, printVerdicts, say } from './report.ts';

/** How far the last quarter may be above the first; a garbage collector may run just before one of them. */
const GROWTH_FACTOR_MAX = 1.05;
const GROWTH_MB_MAX = 5;

/** `npm run bench -- soak`: memory under steady load. Returns whether it is stable. */
export async function runSoak(options: Options<'soak'>, opened: AsyncDisposableStack): Promise<boolean> {
  const generator = await findLoadGenerator();
  const clients = registrations('client', STANDARD_LOAD.clients.count, await hashedSecret(RECOMMENDED_COST));
  const candidate = await startInMemory('memory', clients, opened);
  const warmUpSeconds = options['warm-up-seconds'];
  const plan = { ...STANDARD_LOAD, seconds: options.minutes * 60 };

  say(`${warmUpSeconds} s of warm-up, then ${options.minutes} min …`);
  await runLoad(candidate, generator, { ...plan, seconds: warmUpSeconds });
  const load = () => runLoad(candidate, generator, plan);
  const [{ tokens, tokensPerSecond, failures }, samples] = await sampleMemory(
    candidate.tree,
    options['every-seconds'] * 1000,
    load,
  );
  if (samples.length < 4) throw new Error('too few samples of memory: run for longer, on a system with /proc');

  const { firstQuarter, lastQuarter, isStable } = memoryTrend(samples.map(({ megabytes }) => megabytes));
  print(
    conditions(
      `Load: ${generator.name}, ${plan.connections} connections, ${options.minutes} min`,
      `Tokens: ${figure(tokens)}, ${figure(tokensPerSecond)}/s; failures: ${figure(failures)}`,
      `Memory, medians of the first and of the last quarter: ${figure(firstQuarter, 1)} and ${figure(lastQuarter, 1)} MB`,
    ),
  );
  return printVerdicts([
    { requirement: 'memory is stable', passed: isStable },
    { requirement: 'every request is answered with a token', passed: failures === 0 },
  ]);
}

/** The medians of the first and the last quarter. @param megabytes at least four samples, oldest first. */
export function memoryTrend(megabytes: readonly number[]) {
  const quarter = Math.max(1, Math.floor(megabytes.length / 4));
  const firstQuarter = median(megabytes.slice(0, quarter));
  const lastQuarter = median(megabytes.slice(-quarter));
  return { firstQuarter, lastQuarter, isStable: lastQuarter <= firstQuarter * GROWTH_FACTOR_MAX + GROWTH_MB_MAX };
}
