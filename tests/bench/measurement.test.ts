import { describe, expect, it } from '@jest/globals';
import { combine, type Measurement, medianFigures } from './measurement.ts';

const round = (tokensPerSecond: number, failures = 0): Measurement => ({
  ...{ tokensPerSecond, tokens: tokensPerSecond, failures, p50Ms: 6, p99Ms: 20 },
  ...{ cpuMsPerToken: 0.5, memoryMb: Number.NaN, databaseConnections: 20 },
});

describe('the figures of a candidate', () => {
  it('with several ports are the sums over the ports, with the latency of the slowest', () => {
    const slow = { tokens: 1_000, tokensPerSecond: 1_000, failures: 1, p50Ms: 9, p99Ms: 15 };
    const fast = { tokens: 1_000, tokensPerSecond: 2_000, failures: 1, p50Ms: 6, p99Ms: 20 };
    expect(combine([slow, fast])).toEqual({ tokens: 2_000, tokensPerSecond: 3_000, failures: 2, p50Ms: 9, p99Ms: 20 });
  });

  it('are medians over the rounds, and the ratio is the median of the ratios within each round', () => {
    // In the second round the whole machine was slow.
    const rounds = [round(2_000), round(500), round(2_200)];
    expect(medianFigures(rounds, [4_000, 1_000, 4_000])).toMatchObject({ tokensPerSecond: 2_000, ratio: 0.5 });
  });

  it('count the failures of all rounds, and are NaN if they could not be measured', () => {
    const figures = medianFigures([round(1, 2), round(1), round(1, 1)]);
    expect(figures).toMatchObject({ failures: 3, memoryMb: Number.NaN, ratio: Number.NaN });
  });
});
