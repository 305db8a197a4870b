import { expect, it } from '@jest/globals';
import { type Pair, pairsReport } from './checkout-pairs.ts';

function pair(own: number, base: number, cpuMsPerToken: number, rsaLimit: number): Pair {
  const measured = (tokensPerSecond: number, cpuMs: number) => ({
    ...{ tokensPerSecond, tokens: tokensPerSecond, failures: 0, p50Ms: 3, p99Ms: 8, cpuMsPerToken: cpuMs },
    ...{ memoryMb: 100, databaseConnections: Number.NaN },
  });
  return { own: measured(own, cpuMsPerToken), base: measured(base, 0.5), rsaLimit };
}

it('reports each pair, and the median, worst and best of the ratios within the pairs', () => {
  // The whole machine was slow during the second pair.
  const pairs = [pair(4_000, 5_000, 0.6, 8_000), pair(1_100, 1_000, 0.5, 2_000), pair(5_100, 5_000, 0.5, 8_000)];
  const lines = pairsReport('memory', pairs).split('\n');
  expect(lines[0]).toBe('### Repository: memory');
  expect(lines[4]?.replaceAll(/ +/g, ' ')).toBe(
    '| 1 | 4,000 | 5,000 | 0.800 | 0.500 | 3.0 | 3.0 | 8.0 | 8.0 | 1.200 |',
  );
  expect(lines).toHaveLength(9);
  expect(lines.at(-1)).toBe(
    'Ratio: median 1.020, worst 0.800, best 1.100, median of the CPU ratio 1.000, of the RSA limit 0.550.',
  );
});
