import { describe, expect, it } from '@jest/globals';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { InMemoryKeyRing } from '../../../adapters/memory/in-memory-key-ring.ts';
import { InMemoryUsedAssertions } from '../../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { PLACES } from '../../../domain/example-resource/location.ts';
import { describeClientRepository, type NewClient } from '../../contracts/client-repository.ts';
import { describeKeyRingStore } from '../../contracts/key-ring-store.ts';
import { describeUsedAssertions, SMALL_LIMITS } from '../../contracts/used-assertions.ts';
import { pickDecoy } from '../../support/decoys.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { pooledKeyFactory } from '../../support/pooled-key-factory.ts';

describe('in memory client repository', () => {
  describeClientRepository('InMemoryClientRepository', async () => {
    const repository = new InMemoryClientRepository({
      ids: new RandomIdGenerator(),
      clock: new FixedClock(),
      pickDecoy,
    });
    const stored = new Map<string, NewClient>();
    const add = async (client: NewClient) => {
      repository.add(client);
      stored.set(client.clientId, client);
    };
    const change = async (clientId: string, changes: (client: NewClient) => Partial<NewClient>) => {
      const client = stored.get(clientId);
      if (client === undefined) throw new Error('no such client');
      repository.remove(clientId);
      await add({ ...client, ...changes(client) });
    };
    return {
      repository,
      add,
      change: (clientId, changes) => change(clientId, () => changes),
      setDetails: (clientId, details) => change(clientId, () => ({ details })),
      async remove(clientId) {
        repository.remove(clientId);
      },
      async close() {},
    };
  });
});

describe('locations', () => {
  describe('the places of the example', () => {
    it('are at least 20, each with its own code and every field filled', () => {
      expect(PLACES.length).toBeGreaterThanOrEqual(20);
      expect(new Set(PLACES.map((place) => place.code)).size).toBe(PLACES.length);
      for (const place of PLACES) {
        expect(Object.values(place)).not.toContain('');
        expect(place.countryCode).toMatch(/^[A-Z]{2}$/);
        expect(place.enabled).toBe(true);
      }
    });

    it.each(['NYC_USA', 'PAR_FR', 'DELHI_IN'])('hold %s', (code) => {
      expect(PLACES.map((place) => place.code)).toContain(code);
    });
  });
});

describe('used assertions', () => {
  describeUsedAssertions('InMemoryUsedAssertions', async () => {
    const clock = new FixedClock();
    const store = new InMemoryUsedAssertions(clock, SMALL_LIMITS);
    const wait = async (seconds: number) => clock.advance(seconds);
    return { stores: [store, store], wait, setClocks: async () => {}, settle: async () => {} };
  });

  describe('InMemoryUsedAssertions', () => {
    const useOf = (id: number, keptSeconds: number) => ({
      clientId: `c${id % 7}`,
      assertionId: String(id),
      keptSeconds,
    });

    it('removes at most 1000 entries at once, and counts what is left', async () => {
      const clock = new FixedClock();
      const store = new InMemoryUsedAssertions(clock, { perClient: 2_000, total: 3_000 });
      await store.use(Array.from({ length: 3_000 }, (_, id) => useOf(id, 1 + (id % 40))));
      expect(store.load).toEqual({ used: 3_000, max: 3_000 });
      clock.advance(60);
      expect([store.load.used, store.load.used, store.load.used, store.load.used]).toEqual([2_000, 1_000, 0, 0]);
    });

    it('counts what is left of a share when some of it has ended', async () => {
      const clock = new FixedClock();
      const store = new InMemoryUsedAssertions(clock, { perClient: 2, total: 10 });
      const use = async (assertionId: string, keptSeconds: number) =>
        (await store.use([{ clientId: 'a-client', assertionId, keptSeconds }]))[0];
      expect([await use('one', 10), await use('two', 100)]).toEqual(['first', 'first']);
      clock.advance(11);
      expect([store.load.used, await use('three', 100), await use('four', 100)]).toEqual([1, 'first', 'client_full']);
    });

    it('finds a replay in every second before its time is over, and none from then on', async () => {
      const clock = new FixedClock();
      const store = new InMemoryUsedAssertions(clock);
      expect(store.load.max).toBe(1_000_000);
      // Its entry is removed later: such are removed together every ten seconds.
      const use = useOf(1, 25);
      expect(await store.use([use])).toEqual(['first']);
      for (let second = 0; second < 25; second += 1) {
        expect(await store.use([use])).toEqual(['replayed']);
        clock.advance(1);
      }
      expect(await store.use([use])).toEqual(['first']);
      expect(await store.use([use])).toEqual(['replayed']);
    });

    it('keeps an entry for less than ten seconds after its end', async () => {
      const clock = new FixedClock();
      for (let begin = 0; begin < 10; begin += 1) {
        const store = new InMemoryUsedAssertions(clock);
        await store.use([useOf(1, 25)]);
        clock.advance(24);
        expect(store.load.used).toBe(1);
        clock.advance(10);
        expect(store.load.used).toBe(0);
        clock.advance(7);
      }
    });

    it('has room for the share of each client, whatever others have used, and again when an entry of its own ends', async () => {
      const clock = new FixedClock();
      const store = new InMemoryUsedAssertions(clock, { perClient: 2, total: 10 });
      const of = (clientId: string, assertionId: string) => ({ clientId, assertionId, keptSeconds: 10 });
      expect(await store.use([of('a', '1'), of('a', '2'), of('a', '3')])).toEqual(['first', 'first', 'client_full']);
      expect(await store.use([of('b', '1'), of('b', '2'), of('b', '3')])).toEqual(['first', 'first', 'client_full']);
      clock.advance(20);
      expect(await store.use([of('a', '3'), of('a', '4'), of('a', '5')])).toEqual(['first', 'first', 'client_full']);
    });

    it('has room for a client whose entries have ended, however many others have', async () => {
      const usesOf = (clientId: string, count: number, keptSeconds: number) =>
        Array.from({ length: count }, (_, id) => ({ clientId, assertionId: String(id), keptSeconds }));
      // Wherever its walk is.
      for (let further = 0; further < 9; further += 1) {
        const clock = new FixedClock();
        const store = new InMemoryUsedAssertions(clock, { perClient: 300, total: 2_000 });
        await store.use([...usesOf('a', 300, 10), ...usesOf('b', 300, 300), ...usesOf('c', 300, 300)]);
        await store.use(usesOf('d', further, 300));
        clock.advance(20);
        expect(await store.use([{ clientId: 'a', assertionId: 'later', keptSeconds: 10 }])).toEqual(['first']);
      }
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
});

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
