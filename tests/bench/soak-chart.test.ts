import { expect, it } from '@jest/globals';
import { memoryTrend } from './memory-trend.ts';
import { soakChart } from './soak-chart.ts';

const draw = (megabytes: readonly number[]) => {
  const samples = megabytes.map((value, n) => ({ seconds: n * 60, megabytes: value }));
  return soakChart({ samples, trend: memoryTrend(samples), minutes: 3, tokens: 900_000, conditions: ['<16>'] });
};

it('the picture of a soak says how long it was, and what memory did', () => {
  const svg = draw([400, 410, 405, 402]);
  expect(svg).toContain('900,000 tokens in 3 minutes: 400 MB in the first quarter, 402 MB in the last.');
  expect(svg).toContain('Memory does not grow');
  expect(svg).toContain('&lt;16&gt;');
});

it('the picture of a soak says that memory grows', () => {
  expect(draw([400, 410, 405, 500])).toContain('Memory grows');
});
