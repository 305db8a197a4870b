import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AssertionClients } from './assertion-clients.ts';
import type { Candidate } from './candidates.ts';
import type { LoadClients, LoadGenerator, LoadResult } from './load-generator.ts';
import { SECRET, temporaryFolder } from './registrations.ts';
import { median, sum } from './report.ts';

/** The load of most commands: 16 connections, and 16 clients that send their requests one after another. */
export const STANDARD_LOAD = { connections: 16, clients: { count: 16, step: 1, secret: SECRET } } as const;

/** More than any machine answers with an assertion in each request. */
const REQUESTS_PER_SECOND_MAX = 8_000;

/** The result of one round of load on one candidate. Figures of processes are NaN without /proc. */
export interface Measurement extends LoadResult {
  /** CPU milliseconds of all processes of the server per token. */
  readonly cpuMsPerToken: number;
  /** Resident memory of all processes of the server right after the load. */
  readonly memoryMb: number;
  /** Open connections to the candidate's database right after the load; NaN without a database. */
  readonly databaseConnections: number;
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
  return {
    ...load,
    failures: warmUp.failures + load.failures,
    cpuMsPerToken: ((await candidate.tree.cpuMs()) - before) / load.tokens,
    memoryMb: await candidate.tree.memoryMb(),
    databaseConnections: (await candidate.database?.connections()) ?? Number.NaN,
  };
}

/** Loads all ports of a candidate at the same time; they share the connections. */
export async function runLoad(
  { tokenUrls, assertions }: Candidate,
  generator: LoadGenerator,
  plan: Omit<LoadPlan, 'warmUpSeconds'>,
): Promise<LoadResult> {
  await using opened = new AsyncDisposableStack();
  const requests = REQUESTS_PER_SECOND_MAX * plan.seconds;
  const bodiesFile = assertions && (await writeBodies(assertions, requests, plan.clients.count, opened));
  const connections = Math.max(1, Math.floor(plan.connections / tokenUrls.length));
  const jobs = tokenUrls.map((tokenUrl) => ({ ...plan, tokenUrl, connections, bodiesFile }));
  return combine(await Promise.all(jobs.map((job) => generator.run(job))));
}

/** Writes request bodies of `client-1` to `client-CLIENTS` in turn, one per line. */
async function writeBodies(
  { bodyOf, isPresentedAgain }: AssertionClients,
  count: number,
  clients: number,
  opened: AsyncDisposableStack,
): Promise<string> {
  const file = join(await temporaryFolder(opened), 'bodies.txt');
  const known = new Map<string, string>();
  const line = (clientId: string) => {
    const body = known.get(clientId) ?? bodyOf(clientId);
    if (isPresentedAgain) known.set(clientId, body);
    return `${body}\n`;
  };
  const lines = function* () {
    for (let n = 0; n < count; n += 1) yield line(`client-${1 + (n % clients)}`);
  };
  await pipeline(Readable.from(lines()), createWriteStream(file));
  return file;
}

/** Sums over simultaneous runs; percentiles are those of the slowest run, because percentiles cannot be added. */
export function combine(results: readonly LoadResult[]): LoadResult {
  return {
    tokens: sum(results.map(({ tokens }) => tokens)),
    tokensPerSecond: sum(results.map(({ tokensPerSecond }) => tokensPerSecond)),
    failures: sum(results.map(({ failures }) => failures)),
    p50Ms: Math.max(...results.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)),
  };
}

/**
 * Medians over the rounds of one candidate; failures are summed up.
 * @param reference one value per round, such as the RSA limit. `ratio` is the median of the ratios within each round,
 * so that a round in which the whole machine was slow does not distort it.
 */
export function medianFigures(rounds: readonly Measurement[], reference: readonly number[] = []) {
  const over = (value: (round: Measurement, position: number) => number) => median(rounds.map(value));
  return {
    tokensPerSecond: over((round) => round.tokensPerSecond),
    ratio: over((round, position) => round.tokensPerSecond / (reference[position] ?? Number.NaN)),
    p50Ms: over((round) => round.p50Ms),
    p99Ms: over((round) => round.p99Ms),
    cpuMsPerToken: over((round) => round.cpuMsPerToken),
    memoryMb: over((round) => round.memoryMb),
    databaseConnections: over((round) => round.databaseConnections),
    failures: sum(rounds.map(({ failures }) => failures)),
  };
}
