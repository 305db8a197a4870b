import type { Candidate } from './candidates.ts';
import type { LoadClients, LoadGenerator, LoadResult } from './load-generator.ts';
import { SECRET } from './registrations.ts';
import { median } from './report.ts';

/** The load of most commands: 16 connections, and 16 clients that send their requests one after another. */
export const STANDARD_LOAD = { connections: 16, clients: { count: 16, step: 1, secret: SECRET } } as const;

/** More than any machine answers with an assertion in each request. */
const REQUESTS_PER_SECOND_MAX = 8_000;

/** The result of one round of load on one candidate. */
export interface Measurement extends LoadResult {
  /** CPU milliseconds of all processes of the server per token; undefined without /proc. */
  readonly cpuMsPerToken: number | undefined;
  /** Resident memory of all processes of the server right after the load; undefined without /proc. */
  readonly memoryMb: number | undefined;
  /** Open connections to the candidate's database right after the load; undefined without a database. */
  readonly databaseConnections: number | undefined;
}

export interface LoadPlan {
  readonly connections: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly clients: LoadClients;
}

/** Warms up, then measures. Failures during the warm-up count as failures too. */
export async function measure(
  candidate: Candidate,
  generator: LoadGenerator,
  { warmUpSeconds, ...plan }: LoadPlan,
): Promise<Measurement> {
  const warmUp = await runLoad(candidate, generator, { ...plan, seconds: warmUpSeconds });
  const before = await candidate.tree.cpuMs();
  const load = await runLoad(candidate, generator, plan);
  const after = await candidate.tree.cpuMs();
  return {
    ...load,
    failures: warmUp.failures + load.failures,
    cpuMsPerToken: before === undefined || after === undefined ? undefined : (after - before) / load.tokens,
    memoryMb: await candidate.tree.memoryMb(),
    databaseConnections: await candidate.database?.connections(),
  };
}

/** Loads all ports of a candidate at the same time; they share the connections. */
export async function runLoad(
  { tokenUrls, signingClients }: Candidate,
  generator: LoadGenerator,
  { connections, seconds, clients }: Omit<LoadPlan, 'warmUpSeconds'>,
): Promise<LoadResult> {
  await using bodies = await signingClients?.writeBodies(REQUESTS_PER_SECOND_MAX * seconds, clients.count);
  const share = Math.max(1, Math.floor(connections / tokenUrls.length));
  const jobs = tokenUrls.map((tokenUrl) => ({
    tokenUrl,
    connections: share,
    seconds,
    clients,
    bodiesFile: bodies?.path,
  }));
  return combine(await Promise.all(jobs.map((job) => generator.run(job))));
}

/** Sums over simultaneous runs; percentiles are those of the slowest run, because percentiles cannot be added. */
export function combine(results: readonly LoadResult[]): LoadResult {
  const sum = (value: (result: LoadResult) => number) => results.reduce((total, result) => total + value(result), 0);
  return {
    tokens: sum(({ tokens }) => tokens),
    tokensPerSecond: sum(({ tokensPerSecond }) => tokensPerSecond),
    failures: sum(({ failures }) => failures),
    p50Ms: Math.max(...results.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)),
  };
}

/** Medians over the rounds of one candidate. */
export interface MedianFigures extends Omit<Measurement, 'tokens'> {
  /** Tokens per second relative to the reference of the same round. */
  readonly ratio: number;
}

/**
 * Medians over the rounds; failures are summed up.
 * @param reference one value per round, such as the RSA limit. The ratio is the median of the ratios within each round, so
 * that a round in which the whole machine was slow does not distort it.
 */
export function medianFigures(rounds: readonly Measurement[], reference: readonly number[]): MedianFigures {
  const over = (value: (round: Measurement, position: number) => number | undefined) => {
    const values = rounds.map(value);
    return values.includes(undefined) ? undefined : median(values as readonly number[]);
  };
  return {
    tokensPerSecond: over((round) => round.tokensPerSecond) ?? Number.NaN,
    ratio: over((round, position) => round.tokensPerSecond / (reference[position] ?? Number.NaN)) ?? Number.NaN,
    p50Ms: over((round) => round.p50Ms) ?? Number.NaN,
    p99Ms: over((round) => round.p99Ms) ?? Number.NaN,
    cpuMsPerToken: over((round) => round.cpuMsPerToken),
    memoryMb: over((round) => round.memoryMb),
    databaseConnections: over((round) => round.databaseConnections),
    failures: rounds.reduce((sum, round) => sum + round.failures, 0),
  };
}
