import { describe, expect, it } from '@jest/globals';
import { memoryTrend } from './memory-trend.ts';

/** A sample every ten seconds. */
const samples = (...megabytes: readonly number[]) =>
  megabytes.map((value, n) => ({ seconds: n * 10, megabytes: value }));

describe('the trend of memory', () => {
  it('holds where memory stays where it is', () => {
    const trend = memoryTrend(samples(100, 104, 98, 102, 103, 99, 101, 103));
    expect(trend).toMatchObject({ firstQuarter: 102, lastQuarter: 102, holds: true });
  });

  it('is a slope in megabytes an hour', () => {
    expect(memoryTrend(samples(100, 101, 102, 103, 104, 105, 106, 107)).megabytesPerHour).toBeCloseTo(360);
  });

  it.each([
    { last: 110, holds: true },
    { last: 110.1, holds: false },
  ])('with 100 MB first and $last MB last: $holds', ({ last, holds }) => {
    expect(memoryTrend(samples(100, 100, 100, 100, 100, 100, last, last)).holds).toBe(holds);
  });
});
