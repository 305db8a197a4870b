import { expect, it } from '@jest/globals';
import { parseProcStat, treeOf } from './process-tree.ts';

/** See proc(5): fields 14 and 15 are ticks in user and kernel mode, 16 and 17 those of children that have ended. */
const line = (name: string) => `5018 (${name}) S 5000 5014 24233 0 -1 4194304 99 0 0 0 120 34 77 88 20 0 11 0 13 31`;

it.each(['node', 'a (strange) name', ') S 1 2 3'])('reads the CPU time of a process that is called %j', (name) => {
  expect(parseProcStat(line(name))).toEqual({ pid: 5018, parent: 5000, cpuMs: 1540 });
});

it.each([
  { roots: [3], tree: [3, 4, 5, 9] },
  { roots: [5, 6], tree: [5, 6] },
  { roots: [7], tree: [] },
])('finds the descendants of $roots in any order of the list', ({ roots, tree }) => {
  const process = (pid: number, parent: number) => ({ pid, parent, cpuMs: 0 });
  const all = [process(9, 4), process(1, 0), process(4, 3), process(3, 1), process(5, 3), process(6, 1)];
  expect(treeOf(roots, all).map(({ pid }) => pid)).toEqual(tree);
});
