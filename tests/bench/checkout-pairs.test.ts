import { expect, it } from '@jest/globals';
import { pairsReport } from './checkout-pairs.ts';
import type { Measurement } from './measurement.ts';

const measured = (tokensPerSecond: number, p50Ms: number, p99Ms: number, cpuMsPerToken = 0.5): Measurement => ({
  tokensPerSecond,
  tokens: tokensPerSecond,
  failures: 0,
  p50Ms,
  p99Ms,
  cpuMsPerToken,
  memoryMb: 100,
  databaseConnections: undefined,
});

it('reports each pair, and the median, worst and best of the ratios within the pairs', () => {
  const pairs = [
    { own: measured(4_000, 3, 8, 0.6), base: measured(5_000, 2.5, 7) },
    // The whole machine was slow during this pair.
    { own: measured(1_100, 10, 30), base: measured(1_000, 11, 31) },
    { own: measured(5_100, 2.9, 7.5), base: measured(5_000, 3, 7) },
  ];
  expect(pairsReport('memory', pairs)).toBe(
    [
      '### Repository: memory',
      '',
      '| pair   | this tokens/s | base tokens/s | ratio | this p50 ms | base p50 ms | this p99 ms | base p99 ms | CPU ratio |',
      '| ------ | ------------: | ------------: | ----: | ----------: | ----------: | ----------: | ----------: | --------: |',
      '| 1      |         4,000 |         5,000 | 0.800 |         3.0 |         2.5 |         8.0 |         7.0 |     1.200 |',
      '| 2      |         1,100 |         1,000 | 1.100 |        10.0 |        11.0 |        30.0 |        31.0 |     1.000 |',
      '| 3      |         5,100 |         5,000 | 1.020 |         2.9 |         3.0 |         7.5 |         7.0 |     1.000 |',
      '| median |         4,000 |         5,000 | 1.020 |         3.0 |         3.0 |         8.0 |         7.0 |     1.000 |',
      '',
      'Ratio: median 1.020, worst 0.800, best 1.100.',
    ].join('\n'),
  );
});
