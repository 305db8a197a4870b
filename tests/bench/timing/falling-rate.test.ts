import { describe, expect, it } from '@jest/globals';
import { FallingRate } from './falling-rate.ts';

/** Adds 100 answers to requests that were sent at this rate, so many of which are not of the path. */
function addAnswers(rate: FallingRate, perSecond: number, others: number): void {
  for (let n = 0; n < 100; n += 1) rate.add(perSecond, n >= others);
}

describe('FallingRate', () => {
  it('is halved when more than a fifth of 100 answers are not of the path', () => {
    const rate = new FallingRate(80);
    addAnswers(rate, 80, 20);
    expect(rate.perSecond).toBe(80);
    addAnswers(rate, 80, 21);
    expect(rate.perSecond).toBe(40);
  });

  it('is not halved again for requests that were sent before', () => {
    const rate = new FallingRate(80);
    addAnswers(rate, 80, 100);
    addAnswers(rate, 80, 100);
    expect(rate.perSecond).toBe(40);
    addAnswers(rate, 40, 100);
    expect(rate.perSecond).toBe(20);
  });
});
