import { describe, expect, it } from '@jest/globals';
import { percentile } from './percentile.ts';

describe('a percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, n) => 100 - n);

  it.each([
    { percent: 0, expected: 1 },
    { percent: 50, expected: 50 },
    { percent: 99, expected: 99 },
    { percent: 100, expected: 100 },
  ])('$percent of 1 to 100 is $expected, in whatever order they come', ({ percent, expected }) => {
    expect(percentile(hundred, percent)).toBe(expected);
  });

  it('of few values is one of them', () => {
    expect(percentile([7, 1], 99)).toBe(7);
  });

  it('of nothing is no number', () => {
    expect(percentile([], 50)).toBeNaN();
  });
});
