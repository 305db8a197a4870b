import { describe, expect, it } from '@jest/globals';
import { InMemoryUsedAssertions } from '../../../adapters/memory/in-memory-used-assertions.ts';
import { describeUsedAssertions, SMALL_LIMITS } from '../../contracts/used-assertions.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

describeUsedAssertions('InMemoryUsedAssertions', async () => {
  const clock = new FixedClock();
  const store = new InMemoryUsedAssertions(clock, SMALL_LIMITS);
  const wait = async (seconds: number) => clock.advance(seconds);
  return { stores: [store, store], wait, setClocks: async () => {}, settle: async () => {} };
});

describe('InMemoryUsedAssertions', () => {
  const useOf = (id: number, keptSeconds: number) => ({ clientId: `c${id % 7}`, assertionId: String(id), keptSeconds });

  it('removes at most 1000 entries at once, and counts what is left', async () => {
    const clock = new FixedClock();
    const store = new InMemoryUsedAssertions(clock, { perClient: 2_000, total: 3_000 });
    await store.use(Array.from({ length: 3_000 }, (_, id) => useOf(id, 1 + (id % 40))));
    expect(store.load).toEqual({ used: 3_000, max: 3_000 });
    clock.advance(60);
    expect([store.load.used, store.load.used, store.load.used, store.load.used]).toEqual([2_000, 1_000, 0, 0]);
  });

  it('makes room as fast as it fills: a full store accepts a use as soon as the time of one is over', async () => {
    const clock = new FixedClock();
    const store = new InMemoryUsedAssertions(clock, { perClient: 20, total: 20 });
    for (let id = 0; id < 2_000; id += 1) {
      clock.advance(1);
      expect(await store.use([useOf(id, 5)])).toEqual(['first']);
    }
    expect(store.load.used).toBeLessThanOrEqual(20);
  });

  it('counts an id that is used again after its time once for its client', async () => {
    const clock = new FixedClock();
    const store = new InMemoryUsedAssertions(clock, { perClient: 1, total: 10 });
    for (let round = 0; round < 30; round += 1) {
      expect(await store.use([useOf(1, 5)])).toEqual(['first']);
      clock.advance(20);
    }
    expect(store.load.used).toBe(0);
  });
});
