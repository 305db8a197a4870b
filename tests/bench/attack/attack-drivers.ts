import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runProcess, startProcess } from '../server-process.ts';
import type { AnswerCount } from './answer-count.ts';
import type { FloodJob } from './floods.ts';

const LEGITIMATE_CLIENTS = fileURLToPath(new URL('./legitimate-clients.ts', import.meta.url));
const ATTACKERS = fileURLToPath(new URL('./attackers.ts', import.meta.url));
const FLOOD_ATTACKERS = fileURLToPath(new URL('./flood-attackers.ts', import.meta.url));

/** The input of the program legitimate-clients.ts. */
export interface LegitimateJob {
  readonly tokenUrl: string;
  readonly secret: string;
  /** They send requests one after another, at this rate all together. */
  readonly clientIds: readonly string[];
  readonly ratePerSecond: number;
  readonly connections: number;
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

/** Printed by legitimate-clients.ts as a line after the warm-up. */
export const MEASURING = 'measuring';

/** The output of the program legitimate-clients.ts. */
export interface LegitimateResult {
  /** Milliseconds from a request's scheduled time to its token, one value per token. */
  readonly latenciesMs: readonly number[];
  /** Answers without a token, counted by status or by the system's error code. */
  readonly failures: Readonly<Record<string, number>>;
  /** Milliseconds by which each request was sent later than scheduled: how well the driver itself kept up. */
  readonly latenessMs: readonly number[];
  /** Milliseconds from a new client's first request to its first token; null if it got none. */
  readonly newClientsMs: readonly (number | null)[];
  /** The requests that were due in each second of the measurement. */
  readonly seconds: readonly SecondOfClients[];
}

export interface SecondOfClients {
  readonly latenciesMs: readonly number[];
  /** Requests without a token. */
  readonly failures: number;
}

/** The input of the program attackers.ts. */
export interface AttackJob {
  readonly port: number;
  readonly seconds: number;
  /** A third each sends guesses, unknown clients and garbage, each request as soon as the previous one is answered. */
  readonly connections: number;
  readonly lorises: number;
  /** Clients whose secrets are guessed. */
  readonly knownClients: readonly string[];
  /** One more connection guesses the secret of this client. If its row has BCrypt cost 14, a check takes 16 times as long as usual. */
  readonly expensiveClient: string;
  /** Where the seconds of the output begin, in milliseconds since the epoch. */
  readonly secondsFromMs: number;
}

/** The output of the program attackers.ts. */
export interface AttackersResult {
  readonly answers: AttackerAnswers;
  /** Requests that were answered in each second. */
  readonly seconds: readonly number[];
}

export interface AttackerAnswers {
  readonly guesses: AnswerCount;
  readonly unknown: AnswerCount;
  readonly garbage: AnswerCount;
  readonly expensive: AnswerCount;
  readonly lorises: AnswerCount;
}

export interface AttackResult {
  readonly without: LegitimateResult;
  readonly during: LegitimateResult;
  readonly attackers: AttackerAnswers;
  /** Megabytes of the service; undefined without /proc. */
  readonly memory: {
    readonly before: number | undefined;
    readonly atTheEnd: number | undefined;
    readonly highest: number | undefined;
  };
}

/** Runs the legitimate clients in a process of their own and calls `measuring` after their warm-up. Returns both results. */
export async function runLegitimateClients<Other>(
  job: LegitimateJob,
  measuring: () => Promise<Other>,
): Promise<[LegitimateResult, Other]> {
  const child = startProcess(process.execPath, [LEGITIMATE_CLIENTS, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout === null) throw new Error('the legitimate clients were started without a pipe');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (value !== MEASURING) throw new Error('the legitimate clients ended during their warm-up');
  return Promise.all([resultIn(lines), measuring()]);
}

async function resultIn(lines: AsyncIterator<string>): Promise<LegitimateResult> {
  const { value, done } = await lines.next();
  if (done) throw new Error('the legitimate clients ended without a result');
  return JSON.parse(value);
}

/** Runs the attackers in a process of their own. */
export async function runAttackers(job: AttackJob): Promise<AttackersResult> {
  return JSON.parse(await runProcess(process.execPath, [ATTACKERS, JSON.stringify(job)]));
}

/** Runs one flood in a process of its own. */
export async function runFlood(job: FloodJob): Promise<AnswerCount> {
  return JSON.parse(await runProcess(process.execPath, [FLOOD_ATTACKERS, JSON.stringify(job)]));
}
