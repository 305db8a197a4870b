import { describe, expect, it } from '@jest/globals';
import { InMemoryKeyRing } from '../../../adapters/memory/in-memory-key-ring.ts';
import { describeKeyRingStore } from '../../contracts/key-ring-store.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { pooledKeyFactory } from '../../support/pooled-key-factory.ts';

describeKeyRingStore('InMemoryKeyRing', async () => {
  const clock = new FixedClock();
  const store = new InMemoryKeyRing(pooledKeyFactory(), clock);
  return { store, other: store, now: () => clock.seconds(), close: async () => {} };
});

describe('a key in memory', () => {
  it('is forgotten when it has ended, with its private half', async () => {
    const clock = new FixedClock();
    const ring = new InMemoryKeyRing(pooledKeyFactory(), clock);
    const add = async (step: number) => {
      const { kid, seal } = await ring.make('RS256');
      const plan = { algorithm: 'RS256', step, signsFrom: clock.now(), verifiesUntil: clock.now() + 100 } as const;
      const sealed = await seal(plan);
      await ring.add({ ...plan, kid, sealed, publicationSeconds: 1, addedBefore: Infinity });
      return sealed;
    };
    const first = await add(0);
    expect((await ring.open(first)).state).toBe('opened');
    clock.advance(100);
    await add(1);
    expect((await ring.open(first)).state).toBe('damaged');
    expect((await ring.read()).rows).toHaveLength(1);
  });
});
