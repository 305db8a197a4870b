import { describe, expect, it } from '@jest/globals';
import type { SecondOfClients } from './attack-drivers.ts';
import { phaseFigures, type TimelineResult } from './timeline.ts';
import { timelineChart } from './timeline-chart.ts';
import { timelineReport, timelineVerdicts } from './timeline-report.ts';

const second = (latencyMs: number, failures = 0): SecondOfClients => ({ latenciesMs: [1, latencyMs], failures });

/** Two seconds of each phase. */
function timeline(seconds: readonly SecondOfClients[]): TimelineResult {
  const clients = { latenciesMs: [], failures: {}, latenessMs: [], newClientsMs: [], seconds };
  return { phaseSeconds: 2, clients, attackerAnswers: [0, 0, 1_000, 3_000] };
}

const GOOD = timeline([second(2), second(2), second(8), second(9), second(3), second(2)]);

const passed = (result: TimelineResult) => timelineVerdicts(result).map((verdict) => verdict.passed);

describe('the timeline of an attack', () => {
  it('is divided into the time before, during and after it', () => {
    expect(phaseFigures(GOOD)).toEqual([
      { phase: 'before', latenciesMs: [1, 2, 1, 2], failures: 0, attackerAnswersPerSecond: 0 },
      { phase: 'during', latenciesMs: [1, 8, 1, 9], failures: 0, attackerAnswersPerSecond: 2_000 },
      { phase: 'after', latenciesMs: [1, 3, 1, 2], failures: 0, attackerAnswersPerSecond: 0 },
    ]);
  });

  it.each([
    ['nothing is slow', GOOD, [true, true]],
    ['a request gets no token', timeline(GOOD.clients.seconds.with(5, second(2, 1))), [false, true]],
    ['p99 is 100 ms in a phase', timeline(GOOD.clients.seconds.with(3, second(100))), [true, false]],
    ['nothing was measured', timeline([]), [false, false]],
  ])('is judged if %s', (_, result, verdicts) => {
    expect(passed(result)).toEqual(verdicts);
  });

  it('is reported with one row per phase', () => {
    expect(timelineReport('Repository: memory', GOOD)).toMatch(
      /^\| during \| +2,000 \| +4 \| +0 \| +1\.0 \| +9\.0 \|$/m,
    );
  });

  it('is drawn with the figures of the phases in its text alternative', () => {
    const svg = timelineChart(GOOD, ['under <test>']);
    expect(svg).toContain(
      'p99 is 2.0 ms before, 9.0 ms during and 3.0 ms after the flood; every request gets its token',
    );
    expect(svg).toContain('2,000 wrong requests are answered each second');
    expect(svg).toContain('under &lt;test&gt;');
  });

  it('does not claim what the figures do not show', () => {
    const failing = timelineChart(timeline(GOOD.clients.seconds.with(2, second(500, 3))), []);
    expect(failing).toContain('3 of 15 requests get no token');
    expect(failing).not.toContain('hardly slows down');
    expect(timelineChart(timeline([]), [])).not.toMatch(/NaN|Infinity|undefined/);
  });
});
