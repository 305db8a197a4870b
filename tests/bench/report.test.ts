import { describe, expect, it } from '@jest/globals';
import { median, percentile, table } from './report.ts';

it('pads the columns of a table so that it is readable as text', () => {
  const rows = [
    { name: 'memory', rate: 2326.4, cpuMs: 0.456 },
    { name: 'secret cache off', rate: 15, cpuMs: Number.NaN },
  ];
  const shown = table(rows, [
    ['candidate', ({ name }) => name],
    ['tokens/s', ({ rate }) => rate],
    ['CPU ms', ({ cpuMs }) => cpuMs, 2],
  ]);
  expect(shown.split('\n')).toEqual([
    '| candidate        | tokens/s | CPU ms |',
    '| ---------------- | -------: | -----: |',
    '| memory           |    2,326 |   0.46 |',
    '| secret cache off |       15 |    n/a |',
  ]);
});

describe('median', () => {
  it.each([
    { values: [3], expected: 3 },
    { values: [10, 2, 3], expected: 3 },
    { values: [4, 1, 3, 2], expected: 2.5 },
    { values: [], expected: Number.NaN },
  ])('of $values is $expected', ({ values, expected }) => {
    expect(median(values)).toBe(expected);
  });
});

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, n) => 100 - n);

  it.each([
    { percent: 0, expected: 1 },
    { percent: 50, expected: 50 },
    { percent: 99, expected: 99 },
    { percent: 100, expected: 100 },
  ])('$percent of the numbers 1 to 100 is $expected, in any order', ({ percent, expected }) => {
    expect(percentile(hundred, percent)).toBe(expected);
  });

  it('of few values is one of them, and of none is NaN', () => {
    expect(percentile([7, 1], 99)).toBe(7);
    expect(percentile([], 50)).toBeNaN();
  });
});
