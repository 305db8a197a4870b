import { describe, expect, it } from '@jest/globals';
import type { Measurement } from '../load/measurement.ts';
import { comparisonFigures } from './comparison-figures.ts';
import { comparisonReport } from './comparison-report.ts';

const round = (tokensPerSecond: number, changed: Partial<Measurement> = {}): Measurement => ({
  tokensPerSecond,
  tokens: tokensPerSecond,
  failures: 0,
  p50Ms: 6,
  p99Ms: 20,
  cpuMsPerToken: 0.5,
  memoryMb: 100,
  ...changed,
});

describe('the figures of a candidate', () => {
  it('are medians over the rounds, and the ratio is one of ratios within a round', () => {
    // In the second round the whole machine was slow.
    const rounds = [round(2_000), round(500), round(2_200)];
    expect(comparisonFigures({ rounds }, [4_000, 1_000, 4_000])).toMatchObject({ tokensPerSecond: 2_000, ratio: 0.5 });
  });

  it('count the failures of all rounds', () => {
    const rounds = [round(1, { failures: 2 }), round(1), round(1, { failures: 1 })];
    expect(comparisonFigures({ rounds }, [1, 1, 1]).failures).toBe(3);
  });

  it('are reported as not known where there is no /proc', () => {
    const rounds = [round(2_000, { cpuMsPerToken: undefined, memoryMb: undefined })];
    const row = { name: 'this service, memory', tokenBytes: 640, rounds };
    const report = comparisonReport({ rsaLimits: [4_000], rows: [row] }, ['CPU: one of two']);
    expect(report).toMatch(/^- CPU: one of two\n\n\| candidate /);
    expect(report).toMatch(
      /^\| this service, memory +\| +2,000 \| +50 % \| +6\.0 \| +20\.0 \| +n\/a \| +n\/a \| +640 \| +0 \|$/m,
    );
  });
});
