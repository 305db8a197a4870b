import { describe, expect, it } from '@jest/globals';
import { comparisonReport } from './comparison-report.ts';
import { combine, type Measurement, medianFigures } from './measurement.ts';

const round = (tokensPerSecond: number, changed: Partial<Measurement> = {}): Measurement => ({
  tokensPerSecond,
  tokens: tokensPerSecond,
  failures: 0,
  p50Ms: 6,
  p99Ms: 20,
  cpuMsPerToken: 0.5,
  memoryMb: 100,
  databaseConnections: 20,
  ...changed,
});

describe('the figures of a candidate', () => {
  it('with several ports are the sums over the ports, with the latency of the slowest', () => {
    const slow = round(1_000, { failures: 1, p50Ms: 9, p99Ms: 15 });
    expect(combine([slow, { ...slow, tokensPerSecond: 2_000, p50Ms: 6, p99Ms: 20 }])).toEqual({
      tokens: 2_000,
      tokensPerSecond: 3_000,
      failures: 2,
      p50Ms: 9,
      p99Ms: 20,
    });
  });

  it('are medians over the rounds, and the ratio is the median of the ratios within each round', () => {
    // In the second round the whole machine was slow.
    const rounds = [round(2_000), round(500), round(2_200)];
    expect(medianFigures(rounds, [4_000, 1_000, 4_000])).toMatchObject({ tokensPerSecond: 2_000, ratio: 0.5 });
  });

  it('count the failures of all rounds', () => {
    const rounds = [round(1, { failures: 2 }), round(1), round(1, { failures: 1 })];
    expect(medianFigures(rounds, [1, 1, 1]).failures).toBe(3);
  });

  it('are reported as n/a if there is no /proc', () => {
    const rounds = [round(2_000, { cpuMsPerToken: undefined, memoryMb: undefined })];
    const row = { name: 'this service, memory', tokenBytes: 640, keys: 2, rounds };
    const report = comparisonReport({ rsaLimits: [4_000], rows: [row] }, ['CPU: one of two']);
    expect(report).toMatch(/^- CPU: one of two\n\n\| candidate /);
    expect(report).toMatch(
      /^\| this service, memory +\| +2,000 \| +50 % \| +6\.0 \| +20\.0 \| +n\/a \| +n\/a \| +2 \| +20 \| +640 \| +0 \|$/m,
    );
  });
});
