import { expect, it } from '@jest/globals';
import { figure } from './figure.ts';
import { markdownTable } from './markdown-table.ts';

it('draws a table that reads well as text too', () => {
  const rows = [
    ['memory', figure(2326.4), figure(0.456, 2)],
    ['remembering off', figure(15), figure(undefined, 2)],
  ];
  expect(markdownTable(['candidate', 'tokens/s', 'CPU ms'], rows)).toBe(
    [
      '| candidate       | tokens/s | CPU ms |',
      '| --------------- | -------: | -----: |',
      '| memory          |    2,326 |   0.46 |',
      '| remembering off |       15 |    n/a |',
    ].join('\n'),
  );
});
