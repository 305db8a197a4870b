import { describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { COST, casesToldApart, ranksOf, timedService, Z_MAX } from './refusal-times.ts';

// tests/faults/timing.fault.ts takes more samples, also on a busy machine.
const SAMPLES = 100;

describe('the time of a refusal', () => {
  const service = timedService();

  it('tells the cases of invalid_client apart from nothing', async () => {
    expect(await casesToldApart(service(), SAMPLES)).toEqual([]);
  });
});

describe('the time of a refusal, with a planted difference', () => {
  const service = timedService((verifier) => ({
    cost: verifier.cost,
    async verify(presented, stored) {
      if (stored === undefined) await bcrypt.hash('another-secret', COST);
      return verifier.verify(presented, stored);
    },
  }));

  it('tells an unknown client whose refusal takes one verification more', async () => {
    const ranks = await ranksOf(service(), SAMPLES, ['wrong secret', 'unknown client']);
    expect(ranks.get('unknown client')).toBeGreaterThan(Z_MAX);
  });
});
