import { describe, expect, it } from '@jest/globals';
import { megabytesOf, parseProcStat, treeOf } from './process-tree.ts';

/** See proc(5): fields 14 and 15 are ticks in user and kernel mode, 16 and 17 those of children that have ended. */
const line = (pid: number, name: string, parent: number, user: number, system: number) =>
  `${pid} (${name}) S ${parent} 5014 24233 0 -1 4194304 99 0 0 0 ${user} ${system} 77 88 20 0 11 0 1366972 3133440 394 18446744073709551615 94445108367360 0 0`;

describe('a line of /proc/PID/stat', () => {
  it.each(['node', 'MainThread', 'a (strange) name', ') S 1 2 3'])('is read if the program is called %j', (name) => {
    expect(parseProcStat(line(5018, name, 5000, 120, 34))).toEqual({ pid: 5018, parent: 5000, cpuMs: 1540 });
  });
});

describe('a process tree', () => {
  const process = (pid: number, parent: number) => ({ pid, parent, cpuMs: 0 });
  const all = [process(9, 4), process(1, 0), process(4, 3), process(3, 1), process(5, 3), process(6, 1)];

  it('holds all descendants, in any order of the list', () => {
    expect(treeOf([3], all).map(({ pid }) => pid)).toEqual([3, 4, 5, 9]);
  });

  it('can have several roots', () => {
    expect(treeOf([5, 6], all).map(({ pid }) => pid)).toEqual([5, 6]);
  });

  it('is empty if the process has ended', () => {
    expect(treeOf([7], all)).toEqual([]);
  });
});

describe('the memory of a process', () => {
  const ROLLUP = `5592400000-7ffc00000 ---p 00000000 00:00 0                          [rollup]
Rss:              114688 kB
Pss:              102400 kB
Pss_Dirty:         81920 kB
`;

  it('is read in megabytes', () => {
    expect(megabytesOf('Pss', ROLLUP)).toBe(100);
  });

  it('is undefined if the kernel does not report it', () => {
    expect(megabytesOf('Pss', '')).toBeUndefined();
  });
});
