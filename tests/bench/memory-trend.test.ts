import { describe, expect, it } from '@jest/globals';
import { memoryTrend } from './memory-trend.ts';

/** A sample every ten seconds. */
const samples = (...megabytes: readonly number[]) =>
  megabytes.map((value, n) => ({ seconds: n * 10, megabytes: value }));

describe('the memory trend', () => {
  it('is stable if memory does not grow', () => {
    const trend = memoryTrend(samples(100, 104, 98, 102, 103, 99, 101, 103));
    expect(trend).toMatchObject({ firstQuarter: 102, lastQuarter: 102, isStable: true });
  });

  it('is a slope in megabytes per hour', () => {
    expect(memoryTrend(samples(100, 101, 102, 103, 104, 105, 106, 107)).megabytesPerHour).toBeCloseTo(360);
  });

  it.each([
    { last: 110, isStable: true },
    { last: 110.1, isStable: false },
  ])('from 100 MB to $last MB is stable: $isStable', ({ last, isStable }) => {
    expect(memoryTrend(samples(100, 100, 100, 100, 100, 100, last, last)).isStable).toBe(isStable);
  });
});
