import { describe, expect, it } from '@jest/globals';
import { type MemoryResult, memoryReport, memoryVerdicts } from './memory-report.ts';

const IDLE: MemoryResult = {
  flood: 'idle connections, 2,000',
  connections: 2_000,
  idleMb: 200,
  highestMb: 245,
  atTheEndMb: 240,
  groupPeakMb: 260,
  processesKept: true,
  answers: { 401: 2_000 },
};

const passed = (results: readonly MemoryResult[]) => memoryVerdicts(results).map((verdict) => verdict.passed);

describe('the memory of a service under attack', () => {
  it.each<[string, readonly boolean[], Partial<MemoryResult>]>([
    ['stays below 512 MB', [true, true], {}],
    ['has a peak of 512 MB', [false, true], { groupPeakMb: 512 }],
    ['is judged by its samples without control groups', [false, true], { groupPeakMb: undefined, highestMb: 600 }],
    ['could not be measured', [false, true], { groupPeakMb: undefined, highestMb: undefined }],
    ['ended a process', [true, false], { processesKept: false }],
  ])('%s', (_, expected, changed) => {
    expect(passed([IDLE, { ...IDLE, ...changed }])).toEqual(expected);
  });

  it('is reported with one row per flood and the memory of an idle connection', () => {
    const report = memoryReport([IDLE, { ...IDLE, flood: 'guesses, 500 x 15', answers: { 503: 9 } }]);
    expect(report).toMatch(/^\| guesses, 500 x 15 +\| +200 \| +245 \| +260 \| +503 × 9 \|$/m);
    expect(report).toContain('An idle connection needs 20 KiB.');
    expect(report).toContain('- passed: memory stays below 512 MB');
  });
});
