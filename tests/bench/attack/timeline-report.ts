import { figure, markdownTable, percentile } from '../report.ts';
import { P99_MS_MAX } from './attack-report.ts';
import { phaseFigures, type TimelineResult } from './timeline.ts';

/** The requirements on a service before, during and after an attack, and whether it met them. */
export function timelineVerdicts(result: TimelineResult) {
  const phases = phaseFigures(result);
  return [
    {
      requirement: 'every request of a known client is answered with a token',
      passed: phases.every(({ failures, latenciesMs }) => failures === 0 && latenciesMs.length > 0),
    },
    {
      requirement: `the p99 of known clients is below ${P99_MS_MAX} ms in each phase`,
      passed: phases.every(({ latenciesMs }) => percentile(latenciesMs, 99) < P99_MS_MAX),
    },
  ];
}

/** The figures of each phase and the verdicts, as Markdown. */
export function timelineReport(title: string, result: TimelineResult): string {
  const rows = phaseFigures(result).map(({ phase, latenciesMs, failures, attackerAnswersPerSecond }) => [
    phase,
    figure(attackerAnswersPerSecond),
    figure(latenciesMs.length),
    figure(failures),
    figure(percentile(latenciesMs, 50), 1),
    figure(percentile(latenciesMs, 99), 1),
  ]);
  const header = ['phase', 'answers to attackers/s', 'tokens for known clients', 'without a token', 'p50 ms', 'p99 ms'];
  return [
    `### ${title}, ${result.phaseSeconds} s before, during and after the attack`,
    '',
    markdownTable(header, rows),
    '',
    ...timelineVerdicts(result).map(({ requirement, passed }) => `- ${passed ? 'passed' : 'FAILED'}: ${requirement}`),
  ].join('\n');
}
