import type { Comparison } from './comparison.ts';
import { COLORS, FONT } from './drawing/style.ts';
import { medianFigures } from './measurement.ts';
import { peerFile } from './peers.ts';
import { figure, median } from './report.ts';
import { runProcess } from './server-process.ts';

const WIDTH = 960;
const BAR_HEIGHT = 56;

// An opaque background: an image does not know whether the page around it is light or dark.
const CARD = COLORS.card.light;
const INK = COLORS.ink.light;

const TEXT = { color: INK, fontSize: 14, fontFamily: FONT };

/** The comparison as SVG: one bar per candidate, and the machine's limit as a line. */
export async function comparisonChart(comparison: Comparison): Promise<string> {
  const height = comparison.rows.length * BAR_HEIGHT + 120;
  const input = JSON.stringify({ width: WIDTH, height, option: chartOption(comparison) });
  return runProcess(process.execPath, [peerFile('draw-chart.mjs')], { input });
}

/** The option object of echarts. */
function chartOption({ rows, rsaLimits }: Comparison): object {
  const limit = median(rsaLimits);
  const bars = rows.map((row) => ({ name: row.name, ...medianFigures(row.rounds, rsaLimits) }));
  return {
    backgroundColor: CARD,
    textStyle: TEXT,
    title: { text: 'Tokens per second (RS256, RSA 2048)', left: 24, top: 16, textStyle: { ...TEXT, fontSize: 17 } },
    grid: { left: 40, right: 40, top: 84, bottom: 24, containLabel: true },
    xAxis: { type: 'value', max: Math.ceil((limit * 1.05) / 100) * 100, axisLabel: TEXT },
    yAxis: {
      type: 'category',
      inverse: true,
      axisTick: { show: false },
      axisLabel: TEXT,
      data: bars.map(({ name }) => wrapped(name)),
    },
    series: [
      {
        type: 'bar',
        barWidth: '55%',
        itemStyle: { color: COLORS.good.light },
        data: bars.map(({ tokensPerSecond, p50Ms, p99Ms }) => ({
          value: Math.round(tokensPerSecond),
          label: {
            ...TEXT,
            show: true,
            // Next to a long bar there is no space for the label.
            position: tokensPerSecond > limit / 2 ? 'insideRight' : 'right',
            color: tokensPerSecond > limit / 2 ? '#ffffff' : INK,
            formatter: `${figure(tokensPerSecond)}  (p50 ${figure(p50Ms, 1)} ms, p99 ${figure(p99Ms, 1)} ms)`,
          },
        })),
        markLine: {
          symbol: 'none',
          lineStyle: { color: COLORS.bad.light, width: 2, type: 'dashed' },
          label: {
            ...TEXT,
            color: COLORS.bad.light,
            position: 'start',
            align: 'right',
            formatter: `the machine's RSA-2048 limit: ${figure(limit)}/s`,
          },
          data: [{ xAxis: limit }],
        },
      },
    ],
  };
}

/** The name on two lines, split at its first comma. */
function wrapped(name: string): string {
  return name.replace(', ', ',\n');
}
