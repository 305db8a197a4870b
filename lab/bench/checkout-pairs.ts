import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { NO_SECRET } from '../../domain/stored-secret.ts';
import { runProcess } from '../../tests/support/server-process.ts';
import { type AssertionClients, signingClients } from './assertion-clients.ts';
import { startBenchDatabaseServer } from './bench-database.ts';
import { type Candidate, startInMemory, startOnPostgres } from './candidates.ts';
import type { Options, Repository } from './command-line.ts';
import { findLoadGenerator, type LoadGenerator } from './load-generator.ts';
import { type Measurement, measure, STANDARD_LOAD } from './measurement.ts';
import { hashedSecret, RECOMMENDED_COST, registrations } from './registrations.ts';
import { type Column, conditions, figure, median, print, say, sum, table } from './report.ts';
import { measureRsaLimit } from './rsa-limit.ts';

/** The two measurements of one pair, made right after one another. */
export interface Pair {
  /** The machine's RSA-2048 signatures per second right before it. */
  readonly rsaLimit: number;
  readonly own: Measurement;
  readonly base: Measurement;
}

const WARM_UP_SECONDS = 1;
const RSA_SECONDS = 1;

/** Each checkout's share of the connections that the PostgreSQL server allows. */
const SERVICES = 2;

/**
 * `npm run bench -- compare`: this checkout against another one. Both services run at the same time with the same
 * settings and registrations, and are measured in interleaved pairs, so that a change of the machine's speed affects
 * both sides of a pair. Returns whether every response was a token.
 */
export async function runCheckoutPairs(options: Options<'compare'>, opened: AsyncDisposableStack): Promise<boolean> {
  const base = resolve(options.base);
  if (!existsSync(join(base, 'config/main.ts'))) throw new Error(`${base} is not a checkout of this project`);
  const generator = await findLoadGenerator();
  const { connections } = STANDARD_LOAD;
  print(
    conditions(
      `Load: ${generator.name}, ${connections} connections, ${options.pairs} pairs, ${options.seconds} s each`,
      `This checkout: ${await revisionOf(process.cwd())}; base: ${await revisionOf(base)}`,
    ),
  );
  let failures = 0;
  for (const method of options.method) {
    const assertions = method === 'private_key_jwt' ? signingClients() : undefined;
    for (const repository of options.repository) {
      await using running = new AsyncDisposableStack();
      opened.defer(() => running.disposeAsync());
      const pairs = await measurePairs(await startBoth(repository, base, assertions, running), generator, options);
      print(pairsReport(`${repository}, ${method}`, pairs));
      failures += sum(pairs.map(({ own, base }) => own.failures + base.failures));
    }
  }
  if (failures > 0) say(`FAILED: ${failures} requests were not answered with a token`);
  return failures === 0;
}

/** This checkout first. */
async function startBoth(
  repository: Repository,
  base: string,
  assertions: AssertionClients | undefined,
  opened: AsyncDisposableStack,
): Promise<[Candidate, Candidate]> {
  const secret = assertions === undefined ? await hashedSecret(RECOMMENDED_COST) : NO_SECRET;
  const plain = registrations('client', STANDARD_LOAD.clients.count, secret);
  const clients = assertions?.register(plain) ?? plain;
  const databases = repository === 'postgres' ? await startBenchDatabaseServer(opened) : undefined;
  const start = async (name: string, options: { readonly checkout?: string }) => {
    if (databases === undefined) return startInMemory(name, clients, opened, { ...options, assertions });
    const all = { ...options, assertions, services: SERVICES };
    return startOnPostgres(name, await databases.create(), clients, opened, all);
  };
  return [await start('this checkout', {}), await start('base', { checkout: base })];
}

/**
 * The order within a pair alternates. One unmeasured pair comes first, for JIT compilation and the cache of secrets.
 */
async function measurePairs(
  [own, base]: readonly [Candidate, Candidate],
  generator: LoadGenerator,
  { pairs, seconds }: Options<'compare'>,
): Promise<readonly Pair[]> {
  const plan = { ...STANDARD_LOAD, seconds, warmUpSeconds: WARM_UP_SECONDS };
  const measured: Pair[] = [];
  for (let n = 0; n <= pairs; n += 1) {
    const rsaLimit = await measureRsaLimit(RSA_SECONDS);
    const results = new Map<Candidate, Measurement>();
    const order = n % 2 === 1 ? [own, base] : [base, own];
    for (const candidate of order) results.set(candidate, await measure(candidate, generator, plan));
    const pair = { rsaLimit, own: results.get(own) as Measurement, base: results.get(base) as Measurement };
    if (n > 0) measured.push(pair);
    say(`pair ${n} of ${pairs}${n === 0 ? ' (warm-up)' : ''}: ${figure(ratioOf(pair), 3)}`);
  }
  return measured;
}

/** Tokens per second of this checkout relative to the base. */
function ratioOf({ own, base }: Pair): number {
  return own.tokensPerSecond / base.tokensPerSecond;
}

function rsaRatioOf({ own, rsaLimit }: Pair): number {
  return own.tokensPerSecond / rsaLimit;
}

/** CPU time per token of this checkout's processes relative to the base's. */
function cpuRatioOf({ own, base }: Pair): number {
  return own.cpuMsPerToken / base.cpuMsPerToken;
}

const COLUMNS: readonly Column<Pair & { readonly name: string }>[] = [
  ['pair', ({ name }) => name],
  ['this tokens/s', ({ own }) => own.tokensPerSecond],
  ['base tokens/s', ({ base }) => base.tokensPerSecond],
  ['ratio', ratioOf, 3],
  ['this of RSA limit', rsaRatioOf, 3],
  ['this p50 ms', ({ own }) => own.p50Ms, 1],
  ['base p50 ms', ({ base }) => base.p50Ms, 1],
  ['this p99 ms', ({ own }) => own.p99Ms, 1],
  ['base p99 ms', ({ base }) => base.p99Ms, 1],
  ['CPU ratio', cpuRatioOf, 3],
];

/** One row per pair, and the median, worst and best of the ratios within the pairs. */
export function pairsReport(what: string, pairs: readonly Pair[]): string {
  const rows = pairs.map((pair, n) => ({ ...pair, name: `${n + 1}` }));
  const ratios = pairs.map(ratioOf);
  const medians = [
    `Ratio: median ${figure(median(ratios), 3)}`,
    `worst ${figure(Math.min(...ratios), 3)}`,
    `best ${figure(Math.max(...ratios), 3)}`,
    `median of the CPU ratio ${figure(median(pairs.map(cpuRatioOf)), 3)}`,
    `of the RSA limit ${figure(median(pairs.map(rsaRatioOf)), 3)}.`,
  ];
  return `### ${what}\n\n${table(rows, COLUMNS)}\n\n${medians.join(', ')}`;
}

/** The commit of a checkout, for the report. */
async function revisionOf(folder: string): Promise<string> {
  const revision = await runProcess('git', ['-C', folder, 'describe', '--always', '--dirty']).catch(() => undefined);
  return revision?.trim() ?? 'of unknown revision';
}
