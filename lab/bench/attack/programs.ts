import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { runProcess, startProcess } from '../../../tests/support/server-process.ts';
import { type Registration, SECRET } from '../registrations.ts';
import { type Column, figure, percentile, sum } from '../report.ts';
import type { ResponseCount } from './connection-flood.ts';
import type { FloodName, MixedFloodName } from './floods.ts';

const LEGITIMATE_CLIENTS = fileURLToPath(new URL('./legitimate-clients.ts', import.meta.url));
const ATTACKERS = fileURLToPath(new URL('./attackers.ts', import.meta.url));

/** The input of the program legitimate-clients.ts. */
export interface LegitimateJob {
  readonly tokenUrl: string;
  readonly secret: string;
  /** They send requests one after another, at this rate all together. */
  readonly clientIds: readonly string[];
  readonly ratePerSecond: number;
  readonly connections: number;
  /** At most so many in place of each of these, while a request is unanswered. */
  readonly maxSockets?: number;
  /** Seconds at the same rate that are not measured. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Clients that send their first request during the measurement, one every `newClientEverySeconds`. */
  readonly newClientIds: readonly string[];
  /** The bodies that each of them sends, one after the other, if they authenticate by assertions. */
  readonly newClientBodies?: readonly (readonly string[])[];
  readonly newClientEverySeconds: number;
  /** Milliseconds that a new client waits before it retries, at most; less if `Retry-After` says so. */
  readonly retryMsMax: number;
}

/** Known clients at a rate, and newcomers, after a warm-up in which each known client uses each connection. */
export function legitimateJob(
  tokenUrl: string,
  known: readonly Registration[],
  newcomers: readonly Registration[],
  plan: Pick<LegitimateJob, 'seconds' | 'connections' | 'maxSockets' | 'newClientEverySeconds' | 'retryMsMax'> & {
    readonly rate: number;
  },
): LegitimateJob {
  const { rate, ...more } = plan;
  return {
    ...more,
    tokenUrl,
    secret: SECRET,
    clientIds: known.map(({ client_id }) => client_id),
    ratePerSecond: rate,
    warmUpSeconds: Math.ceil((known.length * plan.connections) / rate) + 1,
    newClientIds: newcomers.map(({ client_id }) => client_id),
  };
}

/** Printed by legitimate-clients.ts as a line after the warm-up. */
export const MEASURING = 'measuring';

/** The output of the program legitimate-clients.ts. */
export interface LegitimateResult {
  /** Milliseconds from a request's scheduled time to its token, one value per token. */
  readonly latenciesMs: readonly number[];
  /** Answers without a token, counted by status or by the system's error code. */
  readonly failures: ResponseCount;
  /** Milliseconds by which each request was sent later than scheduled: how well the driver itself kept up. */
  readonly latenessMs: readonly number[];
  /** Milliseconds from a new client's first request to its first token; null if it got none. */
  readonly newClientsMs: readonly (number | null)[];
}

/** The input of the program attackers.ts. */
export interface FloodJob {
  readonly port: number;
  readonly seconds: number;
  readonly floods: readonly (FloodName | MixedFloodName)[];
  /** Connections of a flood, if not as usual. */
  readonly connections?: Readonly<Record<string, number>>;
}

/** The output of the program attackers.ts, for each flood. */
export interface FloodResult {
  readonly name: FloodName | MixedFloodName;
  readonly answers: ResponseCount;
  /** Connections that were closed before a response. */
  readonly unanswered: number;
}

/**
 * Runs the legitimate clients in a process of their own and calls `measuring` after their warm-up. Returns both
 * results.
 */
export async function runLegitimateClients<Other>(
  job: LegitimateJob,
  measuring: () => Promise<Other>,
): Promise<[LegitimateResult, Other]> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const child = startProcess(process.execPath, [LEGITIMATE_CLIENTS, JSON.stringify(job)], { stdio: [...stdio] });
  const lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (value !== MEASURING) throw new Error('the legitimate clients ended during their warm-up');
  const [result, other] = await Promise.all([lines.next(), measuring()]);
  if (result.done) throw new Error('the legitimate clients ended without a result');
  return [JSON.parse(result.value), other];
}

/** Runs floods at the same time in a process of their own. */
export async function runFloods(job: FloodJob): Promise<readonly FloodResult[]> {
  return JSON.parse(await runProcess(process.execPath, [ATTACKERS, JSON.stringify(job)]));
}

/** Such as `401 × 12, 503 × 1,200`. */
export function countText(counts: ResponseCount): string {
  const parts = Object.entries(counts).map(([status, count]) => `${status} × ${figure(count)}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

/**
 * Latencies of the known clients, and of the new ones: Infinity if a new client got no token, NaN if there was none.
 */
export function legitimateFigures({ latenciesMs, failures, latenessMs, newClientsMs }: LegitimateResult) {
  const requests = latenciesMs.length + sum(Object.values(failures));
  const newClients = newClientsMs.map((ms) => ms ?? Number.POSITIVE_INFINITY);
  return {
    requests,
    /** Percentage of the requests that were answered with a token. */
    success: (100 * latenciesMs.length) / requests,
    p50Ms: percentile(latenciesMs, 50),
    p99Ms: percentile(latenciesMs, 99),
    /** How late the driver itself sent its requests. */
    lateP99Ms: percentile(latenessMs, 99),
    newClientMedianMs: percentile(newClients, 50),
    newClientHighestMs: percentile(newClients, 100),
    newClientsServed: `${newClientsMs.filter((ms) => ms !== null).length} of ${newClientsMs.length}`,
  };
}

export const CLIENT_COLUMNS: readonly Column<ReturnType<typeof legitimateFigures>>[] = [
  ['requests', ({ requests }) => requests],
  ['with a token, %', ({ success }) => success, 2],
  ['p50, ms', ({ p50Ms }) => p50Ms, 1],
  ['p99, ms', ({ p99Ms }) => p99Ms, 1],
  ['sent late by (p99), ms', ({ lateP99Ms }) => lateP99Ms, 1],
  ['newcomers served', ({ newClientsServed }) => newClientsServed],
  ['median, ms', ({ newClientMedianMs }) => newClientMedianMs],
  ['slowest, ms', ({ newClientHighestMs }) => newClientHighestMs],
];
