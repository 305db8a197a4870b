import { figure, markdownTable } from '../report.ts';
import { type AnswerCount, countText } from './answer-count.ts';
import type { LegitimateResult } from './attack-drivers.ts';
import { legitimateFigures } from './attack-report.ts';
import type { FloodName } from './floods.ts';
import type { HiddenGuess } from './lock-out.ts';

/** Clients beside a flood. */
export interface FloodedClients {
  readonly flood: FloodName;
  readonly clients: LegitimateResult;
  readonly answers: AnswerCount;
}

export interface StrongResult {
  /** Of guesses. The newcomers send secrets. */
  readonly floods: readonly FloodedClients[];
  /** Of forged assertions. The newcomers sign assertions. */
  readonly assertionFloods: readonly FloodedClients[];
  /** Milliseconds from the end of the burst to the owner's token; null if there was none. */
  readonly lockOutMs: number | null;
  readonly hiddenGuess: HiddenGuess;
}

const NEWCOMER_MS_MAX = 3_000;
const P99_MS_MAX = 100;
const LOCK_OUT_MS_MAX = 5_000;

/**
 * The requirements on newcomers, known clients and the owner of a guessed id. They are judged under the smaller flood of
 * guesses, and under each flood of forged assertions.
 */
export function strongVerdicts({ floods: [smaller], assertionFloods, lockOutMs }: StrongResult) {
  const figures = smaller && legitimateFigures(smaller.clients);
  const ofAssertions = assertionFloods.map(({ clients }) => legitimateFigures(clients));
  return [
    {
      requirement: `every newcomer gets a token within ${NEWCOMER_MS_MAX / 1_000} s`,
      passed: figures !== undefined && figures.newClientHighestMs <= NEWCOMER_MS_MAX,
    },
    {
      requirement: `the p99 of known clients is below ${P99_MS_MAX} ms`,
      passed: figures !== undefined && figures.p99Ms < P99_MS_MAX,
    },
    {
      requirement: `the owner of a guessed id gets a token within ${LOCK_OUT_MS_MAX / 1_000} s after the burst`,
      passed: (lockOutMs ?? Number.POSITIVE_INFINITY) <= LOCK_OUT_MS_MAX,
    },
    {
      requirement: `beside forged assertions, every client that signs one gets a token within ${NEWCOMER_MS_MAX / 1_000} s`,
      passed: ofAssertions.every(({ newClientHighestMs }) => newClientHighestMs <= NEWCOMER_MS_MAX),
    },
    {
      requirement: `beside forged assertions, the p99 of known clients is below ${P99_MS_MAX} ms`,
      passed: ofAssertions.every(({ p99Ms }) => p99Ms < P99_MS_MAX),
    },
  ];
}

/** The figures and the verdicts, as Markdown. */
export function strongReport(result: StrongResult): string {
  const rows = [...result.floods, ...result.assertionFloods].map(({ flood, clients, answers }) => {
    const { p99Ms, success, newClientHighestMs } = legitimateFigures(clients);
    const served = clients.newClientsMs.filter((ms) => ms !== null).length;
    const newcomers = `${served} of ${clients.newClientsMs.length}`;
    const slowest = Number.isFinite(newClientHighestMs) ? `${figure(newClientHighestMs / 1_000, 2)} s` : 'none';
    return [flood, newcomers, slowest, `${figure(p99Ms, 1)} ms`, `${figure(success, 2)} %`, countText(answers)];
  });
  const { lockOutMs, hiddenGuess } = result;
  const header = ['flood', 'newcomers served', 'slowest', 'p99 of known clients', 'served', 'answers to attackers'];
  return [
    '### Strong attackers',
    '',
    markdownTable(header, rows),
    '',
    `310 abandoned guesses for one client: its owner has a token ${lockOutMs === null ? 'not at all' : `${figure(lockOutMs / 1_000, 2)} s after the burst`}.`,
    `1,950 guesses in a burst and the right secret behind them: ${hiddenGuess.status} after ${figure(hiddenGuess.milliseconds)} ms.`,
    '',
    ...strongVerdicts(result).map(({ requirement, passed }) => `- ${passed ? 'passed' : 'FAILED'}: ${requirement}`),
  ].join('\n');
}
