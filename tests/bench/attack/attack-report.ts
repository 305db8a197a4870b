import { figure, markdownTable, percentile } from '../report.ts';
import { countText } from './answer-count.ts';
import type { AttackerAnswers, AttackResult, LegitimateResult } from './attack-drivers.ts';

/** For known clients, during any attack. */
export const P99_MS_MAX = 100;
const NEW_CLIENT_MS_MAX = 2_000;

/** Answers that attackers may get. Slow header senders get 408 or are disconnected, and are not judged here. */
const ALLOWED: Readonly<Record<Exclude<keyof AttackerAnswers, 'lorises'>, readonly string[]>> = {
  guesses: ['401', '429', '503'],
  unknown: ['401', '429', '503'],
  expensive: ['401', '429', '503'],
  garbage: ['400', '429', '503'],
};

/** Latencies of the known clients, and of the new ones: Infinity if a new client got no token, NaN if there was none. */
export function legitimateFigures(result: LegitimateResult) {
  const failures = Object.values(result.failures).reduce((sum, count) => sum + count, 0);
  const requests = result.latenciesMs.length + failures;
  const newClients = result.newClientsMs.map((ms) => ms ?? Number.POSITIVE_INFINITY);
  return {
    requests,
    /** Percentage of the requests that were answered with a token. */
    success: (100 * result.latenciesMs.length) / requests,
    p50Ms: percentile(result.latenciesMs, 50),
    p99Ms: percentile(result.latenciesMs, 99),
    highestMs: percentile(result.latenciesMs, 100),
    /** How late the driver itself sent its requests. */
    lateP99Ms: percentile(result.latenessMs, 99),
    newClientMedianMs: percentile(newClients, 50),
    newClientHighestMs: percentile(newClients, 100),
  };
}

/** The requirements on a service under attack, and whether it met them. */
export function attackVerdicts({ during, attackers }: AttackResult) {
  const figures = legitimateFigures(during);
  const kinds = Object.keys(ALLOWED) as (keyof typeof ALLOWED)[];
  return [
    { requirement: 'every request of a known client is answered with a token', passed: figures.success === 100 },
    { requirement: `the p99 of known clients is below ${P99_MS_MAX} ms`, passed: figures.p99Ms < P99_MS_MAX },
    {
      requirement: `a new client gets its first token within ${NEW_CLIENT_MS_MAX / 1000} s`,
      passed: figures.newClientHighestMs <= NEW_CLIENT_MS_MAX,
    },
    {
      requirement: 'attackers are answered with 401, 429 or 503, and garbage with 400, 429 or 503',
      passed: kinds.every((kind) => Object.keys(attackers[kind]).every((status) => ALLOWED[kind].includes(status))),
    },
  ];
}

/** The figures of legitimate clients and attackers, and the verdicts, as Markdown. */
export function attackReport(title: string, result: AttackResult): string {
  const without = legitimateFigures(result.without);
  const during = legitimateFigures(result.during);
  const { memory, attackers } = result;
  const highest = `${figure(memory.atTheEnd)}, highest ${figure(memory.highest)}`;
  const rows = [
    ['requests of known clients', figure(without.requests), figure(during.requests)],
    ['answered with a token', `${figure(without.success, 2)} %`, `${figure(during.success, 2)} %`],
    ['p50, ms', figure(without.p50Ms, 1), figure(during.p50Ms, 1)],
    ['p99, ms', figure(without.p99Ms, 1), figure(during.p99Ms, 1)],
    ['highest, ms', figure(without.highestMs, 1), figure(during.highestMs, 1)],
    ['requests sent late by (p99), ms', figure(without.lateP99Ms, 1), figure(during.lateP99Ms, 1)],
    ['first token of a new client, median, ms', '', figure(during.newClientMedianMs)],
    ['first token of a new client, highest, ms', '', figure(during.newClientHighestMs)],
    ['memory of the service, MB', figure(memory.before), highest],
  ];
  return [
    `### ${title}`,
    '',
    markdownTable(['', 'without', 'under attack'], rows),
    '',
    `Answers to known clients without a token: before the attack ${countText(result.without.failures)}; during it ${countText(result.during.failures)}.`,
    `Answers to attackers: guesses for known clients ${countText(attackers.guesses)};`,
    `unknown clients ${countText(attackers.unknown)}; garbage ${countText(attackers.garbage)};`,
    `guesses at cost 14 ${countText(attackers.expensive)}; slow header senders ${countText(attackers.lorises)}.`,
    '',
    ...attackVerdicts(result).map(({ requirement, passed }) => `- ${passed ? 'passed' : 'FAILED'}: ${requirement}`),
  ].join('\n');
}
