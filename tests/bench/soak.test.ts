import { expect, it } from '@jest/globals';
import { memoryTrend } from './soak.ts';

it.each([
  { megabytes: [100, 104, 98, 102, 103, 99, 101, 103], firstQuarter: 102, lastQuarter: 102, isStable: true },
  { megabytes: [100, 100, 100, 100, 100, 100, 110, 110], firstQuarter: 100, lastQuarter: 110, isStable: true },
  { megabytes: [100, 100, 100, 110.1], firstQuarter: 100, lastQuarter: 110.1, isStable: false },
])('memory of $megabytes MB is stable: $isStable', ({ megabytes, ...trend }) => {
  expect(memoryTrend(megabytes)).toEqual(trend);
});
