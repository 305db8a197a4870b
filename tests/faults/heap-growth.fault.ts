import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';

const FILE = new URL('../../adapters/system/heap-growth.ts', import.meta.url);

/** The most that the heap of a process took, in bytes, which replaces each of 400,000 objects several times. */
function highestHeap(before: string): number {
  const script = `
    const { limitHeapGrowth } = await import('${FILE}');
    ${before}
    const live = [];
    let highest = 0;
    for (let n = 0; n < 2_500_000; n += 1) {
      live[(n * 7_919) % 400_000] = { n, text: 'text ' + n, more: [n, n] };
      if (n % 10_000 === 0) highest = Math.max(highest, process.memoryUsage().heapTotal);
    }
    console.log(highest);`;
  const args = ['--no-warnings', '--max-semi-space-size=8', '--input-type=module', '-e', script];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

it('a heap whose growth is limited takes about half of the memory', () => {
  // 0.47 to 0.51 of it.
  expect(highestHeap('limitHeapGrowth();')).toBeLessThan(highestHeap('') * 0.6);
});
