import { afterAll, describe, expect, it } from '@jest/globals';
import type { FloodName } from '../bench/attack/floods.ts';
import { measureFlood } from '../bench/attack/memory-run.ts';

const SECONDS = 5;
const MEGABYTES_MAX = 512;

// `npm run bench -- attack --part memory` runs all floods, for longer.
describe('the memory of a primary and two workers', () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());

  it.each<FloodName>([
    'guesses, 500 x 15',
    'guesses, 2,000 x 15',
    'large guesses, 2,000 x 15',
    'large headers, 600 x 16',
  ])(`stays below ${MEGABYTES_MAX} MB under a flood: %s`, async (flood) => {
    const { highestMb, processesKept, answers } = await measureFlood(flood, SECONDS, opened);
    expect(Object.keys(answers)).not.toEqual([]);
    expect(processesKept).toBe(true);
    expect(highestMb).toBeGreaterThan(100);
    expect(highestMb).toBeLessThan(MEGABYTES_MAX);
  });
});
