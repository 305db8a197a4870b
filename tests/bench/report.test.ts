import { describe, expect, it } from '@jest/globals';
import { figure, markdownTable, median, percentile } from './report.ts';

describe('markdownTable', () => {
  it('pads its columns so that the table is readable as text', () => {
    const rows = [
      ['memory', figure(2326.4), figure(0.456, 2)],
      ['secret cache off', figure(15), figure(undefined, 2)],
    ];
    expect(markdownTable(['candidate', 'tokens/s', 'CPU ms'], rows)).toBe(
      [
        '| candidate        | tokens/s | CPU ms |',
        '| ---------------- | -------: | -----: |',
        '| memory           |    2,326 |   0.46 |',
        '| secret cache off |       15 |    n/a |',
      ].join('\n'),
    );
  });
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
