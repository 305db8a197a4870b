import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startBenchDatabaseServer } from './bench-database.ts';
import { type Candidate, type Store, startInMemory, startOnPostgres } from './candidates.ts';
import { findLoadGenerator, type LoadGenerator } from './load-generator.ts';
import { type Measurement, measure, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, RECOMMENDED_COST, registrations } from './registrations.ts';
import { figure, machineLines, markdownList, markdownTable, median, say } from './report.ts';
import { runProcess } from './server-process.ts';

export interface CheckoutOptions {
  /** The folder of another checkout of this project, with its packages installed. */
  readonly base: string;
  readonly pairs: number;
  /** Of load on each of the two in each pair. */
  readonly seconds: number;
  readonly stores: readonly Store[];
}

/** The two measurements of one pair, made right after one another. */
export interface Pair {
  readonly own: Measurement;
  readonly base: Measurement;
}

const WARM_UP_SECONDS = 1;

/** Each checkout's share of the connections that the PostgreSQL server allows. */
const SERVICES = 2;

/**
 * `npm run bench -- compare`: this checkout against another one. Both services run at the same time with the same settings
 * and registrations, and are measured in interleaved pairs, so that a change of the machine's speed affects both sides of a
 * pair. Returns whether every answer was a token.
 */
export async function runCheckoutPairs(options: CheckoutOptions, opened: AsyncDisposableStack): Promise<boolean> {
  const base = resolve(options.base);
  if (!existsSync(join(base, 'config/main.ts'))) throw new Error(`${base} is not a checkout of this project`);
  const generator = await findLoadGenerator();
  const lines = [
    ...machineLines(),
    `Load: ${generator.name}, ${STANDARD_LOAD.connections} connections, ${options.pairs} pairs, ${options.seconds} s each`,
    `This checkout: ${await revisionOf(process.cwd())}; base: ${await revisionOf(base)}`,
  ];
  process.stdout.write(`${markdownList(lines)}\n`);
  let failures = 0;
  for (const store of options.stores) {
    await using running = new AsyncDisposableStack();
    opened.defer(() => running.disposeAsync());
    const pairs = await measurePairs(await startBoth(store, base, running), generator, options);
    process.stdout.write(`\n${pairsReport(store, pairs)}\n`);
    failures += pairs.reduce((sum, pair) => sum + pair.own.failures + pair.base.failures, 0);
  }
  if (failures > 0) say(`FAILED: ${failures} requests were not answered with a token`);
  return failures === 0;
}

/** This checkout first. */
async function startBoth(store: Store, base: string, opened: AsyncDisposableStack): Promise<[Candidate, Candidate]> {
  const clients = registrations('client', STANDARD_LOAD.clients.count, await hashedSecret(RECOMMENDED_COST));
  if (store === 'memory') {
    return [
      await startInMemory('this checkout', clients, opened),
      await startInMemory('base', clients, opened, { checkout: base }),
    ];
  }
  const databases = await startBenchDatabaseServer(opened);
  const start = async (name: string, options: { readonly checkout?: string }) =>
    startOnPostgres(name, await databases.create(), clients, opened, { ...options, services: SERVICES });
  return [await start('this checkout', {}), await start('base', { checkout: base })];
}

/** The order within a pair alternates. One unmeasured pair comes first, for JIT compilation and the cache of secrets. */
async function measurePairs(
  [own, base]: readonly [Candidate, Candidate],
  generator: LoadGenerator,
  { pairs, seconds }: CheckoutOptions,
): Promise<readonly Pair[]> {
  const plan = { ...STANDARD_LOAD, seconds, warmUpSeconds: WARM_UP_SECONDS };
  const measured: Pair[] = [];
  for (let n = 0; n <= pairs; n += 1) {
    const order = n % 2 === 1 ? [own, base] : [base, own];
    const results = new Map<Candidate, Measurement>();
    for (const candidate of order) results.set(candidate, await measure(candidate, generator, plan));
    const pair = { own: results.get(own) as Measurement, base: results.get(base) as Measurement };
    if (n > 0) measured.push(pair);
    say(`pair ${n} of ${pairs}${n === 0 ? ' (warm-up)' : ''}: ${figure(ratioOf(pair), 3)}`);
  }
  return measured;
}

/** Tokens per second of this checkout relative to the base. */
function ratioOf({ own, base }: Pair): number {
  return own.tokensPerSecond / base.tokensPerSecond;
}

/** CPU time per token of this checkout's processes relative to the base's. Not a number without /proc. */
function cpuRatioOf({ own, base }: Pair): number {
  return (own.cpuMsPerToken ?? Number.NaN) / (base.cpuMsPerToken ?? Number.NaN);
}

/** Name, decimals, value. */
const COLUMNS: readonly (readonly [string, number, (pair: Pair) => number])[] = [
  ['this tokens/s', 0, ({ own }) => own.tokensPerSecond],
  ['base tokens/s', 0, ({ base }) => base.tokensPerSecond],
  ['ratio', 3, ratioOf],
  ['this p50 ms', 1, ({ own }) => own.p50Ms],
  ['base p50 ms', 1, ({ base }) => base.p50Ms],
  ['this p99 ms', 1, ({ own }) => own.p99Ms],
  ['base p99 ms', 1, ({ base }) => base.p99Ms],
  ['CPU ratio', 3, cpuRatioOf],
];

/** One row per pair, a row of medians, and the median, worst and best ratio. */
export function pairsReport(store: Store, pairs: readonly Pair[]): string {
  const rows = pairs.map((pair, n) => [`${n + 1}`, ...COLUMNS.map(([, decimals, of]) => figure(of(pair), decimals))]);
  const medians = COLUMNS.map(([, decimals, of]) => figure(median(pairs.map(of)), decimals));
  const ratios = pairs.map(ratioOf);
  const [worst, best] = [Math.min(...ratios), Math.max(...ratios)];
  return [
    `### Repository: ${store}`,
    '',
    markdownTable(['pair', ...COLUMNS.map(([name]) => name)], [...rows, ['median', ...medians]]),
    '',
    `Ratio: median ${figure(median(ratios), 3)}, worst ${figure(worst, 3)}, best ${figure(best, 3)}.`,
  ].join('\n');
}

/** The commit of a checkout, for the report. */
async function revisionOf(folder: string): Promise<string> {
  const revision = await runProcess('git', ['-C', folder, 'describe', '--always', '--dirty']).catch(() => undefined);
  return revision?.trim() ?? 'of unknown revision';
}
