import { describe, expect, it } from '@jest/globals';
import { median } from './median.ts';

describe('the median', () => {
  it.each([
    { values: [3], expected: 3 },
    { values: [10, 2, 3], expected: 3 },
    { values: [4, 1, 3, 2], expected: 2.5 },
  ])('of $values is $expected', ({ values, expected }) => {
    expect(median(values)).toBe(expected);
  });

  it('of nothing is no number', () => {
    expect(median([])).toBeNaN();
  });
});
