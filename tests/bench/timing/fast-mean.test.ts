import { describe, expect, it } from '@jest/globals';
import { detectableDifference, fastMean, standardErrorsAbove } from './fast-mean.ts';

const COUNT = 2_500;

/** Random numbers from 0 to 1, the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Times as on a busy machine: about 400 with an exponential tail, a third of them late by up to 8,000. */
function busyTimes(random: () => number, added: number): readonly number[] {
  return Array.from({ length: COUNT }, () => {
    const late = random() < 1 / 3 ? 8_000 * random() : 0;
    return 400 + added - 100 * Math.log(1 - random()) + late;
  });
}

function comparisons(count: number, added: number): readonly number[] {
  return Array.from({ length: count }, (_, n) => {
    const random = generator(n + 1);
    const reference = fastMean(busyTimes(random, 0));
    return standardErrorsAbove(fastMean(busyTimes(random, added)), reference);
  });
}

describe('the mean of the fast answers', () => {
  it('is that of the values between the percentiles 2 and 20', () => {
    const values = Array.from({ length: 100 }, (_, n) => 99 - n);
    expect(fastMean(values).mean).toBe(10.5);
  });

  it('finds a planted difference of 30 µs among noise of milliseconds', () => {
    for (const z of comparisons(10, 30)) expect(z).toBeGreaterThan(3);
  });

  it('finds the sign of a difference', () => {
    for (const z of comparisons(5, -30)) expect(z).toBeLessThan(-3);
  });

  it('has the standard error that it claims: equal samples differ by one of them on average', () => {
    const squares = comparisons(100, 0).map((z) => z ** 2);
    const mean = squares.reduce((sum, square) => sum + square, 0) / squares.length;
    expect(mean).toBeGreaterThan(0.7);
    expect(mean).toBeLessThan(1.4);
  });

  it('tells which difference it would find', () => {
    const detectable = detectableDifference(fastMean(busyTimes(generator(1), 0)));
    const [z = 0] = comparisons(1, detectable);
    expect(z).toBeGreaterThan(2);
    expect(z).toBeLessThan(6);
  });
});
