import { comparisonFigures } from '../comparison/comparison-figures.ts';
import { figure } from '../figures/figure.ts';
import { markdownTable } from '../figures/markdown-table.ts';
import type { CrowdingRow } from './crowding.ts';
import type { GrowthRow } from './growth.ts';

/** The effect of registrations and of connections, as Markdown; figures are medians over the rounds. */
export function growthReport(growth: readonly GrowthRow[], crowding: readonly CrowdingRow[]): string {
  // The first size, round by round, is what the others are compared with.
  const yardstick = growth[0]?.rounds.map(({ tokensPerSecond }) => tokensPerSecond) ?? [];
  const first = growth[0] === undefined ? 'the first' : figure(growth[0].registrations);
  return [
    markdownTable(
      ['registrations in PostgreSQL', 'tokens/s', `of those with ${first}`, 'p99 ms', 'memory MB', 'failures'],
      growth.map((row) => {
        const { tokensPerSecond, ratio, p99Ms, memoryMb, failures } = comparisonFigures(row, yardstick);
        return [
          figure(row.registrations),
          figure(tokensPerSecond),
          `${figure(ratio * 100)} %`,
          figure(p99Ms, 1),
          figure(memoryMb),
          figure(failures),
        ];
      }),
    ),
    '',
    markdownTable(
      [
        'connections, registrations in memory',
        'tokens/s',
        'p50 ms',
        'p99 ms',
        'memory MB',
        'no token (503 and others)',
      ],
      crowding.map((row) => {
        const { tokensPerSecond, p50Ms, p99Ms, memoryMb, failures } = comparisonFigures(row, []);
        return [
          figure(row.connections),
          figure(tokensPerSecond),
          figure(p50Ms, 1),
          figure(p99Ms, 1),
          figure(memoryMb),
          figure(failures),
        ];
      }),
    ),
  ].join('\n');
}
