import { describe, expect, it } from '@jest/globals';
import { linearScale, ticks } from './scale.ts';

describe('the values on an axis', () => {
  it.each([
    [100, [0, 50, 100]],
    [87, [0, 50, 100]],
    [40, [0, 10, 20, 30, 40]],
    [13.3, [0, 5, 10, 15]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [1_234, [0, 500, 1_000, 1_500]],
    [1, [0, 0.5, 1]],
  ])('up to %d are %j', (highest, values) => {
    expect(ticks(highest)).toEqual(values);
  });

  it.each([0, -1, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])(
    'are 0 and 1 up to %d',
    (highest) => {
      expect(ticks(highest)).toEqual([0, 1]);
    },
  );
});

describe('a linear scale', () => {
  it('maps 0 to its start and the highest value to its end', () => {
    expect([0, 25, 100].map(linearScale(100, 300, 100))).toEqual([300, 250, 100]);
  });
});
