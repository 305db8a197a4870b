import { figure } from '../figures/figure.ts';
import { markdownList } from '../figures/markdown-list.ts';
import { markdownTable } from '../figures/markdown-table.ts';
import { median } from '../figures/median.ts';
import type { Comparison } from './comparison.ts';
import { type ComparisonRow, comparisonFigures } from './comparison-figures.ts';

const HEADER = [
  'candidate',
  'tokens/s',
  'of RSA limit',
  'p50 ms',
  'p99 ms',
  'CPU ms/token',
  'memory MB',
  'token bytes',
  'failures',
];

/** The comparison as Markdown. `conditions` are what it was measured with, a line each. */
export function comparisonReport({ rsaLimits, rows }: Comparison, conditions: readonly string[]): string {
  const limit = `the machine's RSA-2048 limit`;
  const limitRow = [limit, figure(median(rsaLimits)), '100 %', ...Array(HEADER.length - 3).fill('')];
  return [
    markdownList(conditions),
    '',
    markdownTable(HEADER, [limitRow, ...rows.map((row) => cellsOf(row, rsaLimits))]),
  ].join('\n');
}

function cellsOf(row: ComparisonRow, rsaLimits: readonly number[]): readonly string[] {
  const figures = comparisonFigures(row, rsaLimits);
  return [
    row.name,
    figure(figures.tokensPerSecond),
    `${figure(figures.ratio * 100, figures.ratio < 0.1 ? 1 : 0)} %`,
    figure(figures.p50Ms, 1),
    figure(figures.p99Ms, 1),
    figure(figures.cpuMsPerToken, 2),
    figure(figures.memoryMb),
    figure(row.tokenBytes),
    figure(figures.failures),
  ];
}
