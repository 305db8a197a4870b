import { lineChart } from './drawing/line-chart.ts';
import type { MemoryTrend } from './memory-trend.ts';
import type { MemorySample } from './process-tree.ts';
import { figure } from './report.ts';

export interface SoakChart {
  readonly samples: readonly MemorySample[];
  readonly trend: MemoryTrend;
  readonly minutes: number;
  readonly tokens: number;
  /** Of the measurement, one per line. */
  readonly conditions: readonly string[];
}

/** Memory over a soak, as SVG. */
export function soakChart({ samples, trend, minutes, tokens, conditions }: SoakChart): string {
  const length = `${figure(minutes, Number.isInteger(minutes) ? 0 : 1)} minutes`;
  const [first, last] = [figure(trend.firstQuarter), figure(trend.lastQuarter)];
  const subtitle = `${figure(tokens)} tokens in ${length}: ${first} MB in the first quarter, ${last} MB in the last.`;
  return lineChart({
    title: trend.isStable ? 'Memory does not grow under full load' : 'Memory grows under full load',
    subtitle,
    description: `Memory of all processes of the service. ${subtitle}`,
    xLabel: `minutes after the warm-up (a run of ${length})`,
    panels: [
      {
        title: 'Memory of all processes, MB',
        series: [
          {
            name: 'memory',
            color: 'good',
            shape: 'area',
            points: samples.map(({ seconds, megabytes }) => ({ x: seconds / 60, y: megabytes })),
          },
        ],
      },
    ],
    notes: conditions,
  });
}
