import { lineChart } from '../drawing/line-chart.ts';
import { figure, percentile } from '../report.ts';
import { P99_MS_MAX } from './attack-report.ts';
import { phaseFigures, type TimelineResult } from './timeline.ts';
import { timelineVerdicts } from './timeline-report.ts';

/** The timeline as SVG: the flood, and below it the latency of good clients. @param conditions of the measurement, one per line. */
export function timelineChart(result: TimelineResult, conditions: readonly string[]): string {
  const { phaseSeconds, clients, attackerAnswers } = result;
  const phases = phaseFigures(result);
  const failures = phases.reduce((sum, phase) => sum + phase.failures, 0);
  const tokens = phases.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0);
  const [before, during, after] = phases.map(({ latenciesMs }) => `${figure(percentile(latenciesMs, 99), 1)} ms`);
  const share =
    failures === 0
      ? 'every request gets its token'
      : `${figure(failures)} of ${figure(tokens + failures)} requests get no token`;
  const subtitle = `Good clients: p99 is ${before} before, ${during} during and ${after} after the flood; ${share}.`;
  const perSecond = clients.seconds.map(({ latenciesMs }, second) => ({ x: second + 0.5, latenciesMs }));
  const latency = (percent: number) =>
    perSecond.map(({ x, latenciesMs }) => ({ x, y: percentile(latenciesMs, percent) }));
  return lineChart({
    title: timelineVerdicts(result).every(({ passed }) => passed)
      ? 'A flood of wrong secrets hardly slows down good clients'
      : 'Good clients during a flood of wrong secrets',
    subtitle,
    description: `${subtitle} During the flood, ${figure(phases[1]?.attackerAnswersPerSecond)} wrong requests are answered each second.`,
    xLabel: 'seconds',
    span: { from: phaseSeconds, to: 2 * phaseSeconds, name: 'flood' },
    panels: [
      {
        title: 'Requests answered per second',
        series: [
          {
            name: 'attackers: refused',
            color: 'bad',
            shape: 'area',
            points: clients.seconds.flatMap((_, second) => {
              const y = attackerAnswers[second] ?? 0;
              return [
                { x: second, y },
                { x: second + 1, y },
              ];
            }),
          },
          {
            name: 'good clients: tokens',
            color: 'good',
            shape: 'line',
            points: perSecond.map(({ x, latenciesMs }) => ({ x, y: latenciesMs.length })),
          },
        ],
      },
      {
        title: 'Good clients: milliseconds from request to token',
        limit: { value: P99_MS_MAX, name: `required: p99 below ${P99_MS_MAX} ms` },
        series: [
          { name: 'p50', color: 'second', shape: 'line', points: latency(50) },
          { name: 'p99', color: 'good', shape: 'line', points: latency(99) },
        ],
      },
    ],
    notes: conditions,
  });
}
