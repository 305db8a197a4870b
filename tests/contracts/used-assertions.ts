import { describe, expect, it } from '@jest/globals';
import type { AssertionUse, UsedAssertions } from '../../application/ports/used-assertions.ts';

/** Small limits, so that a test reaches them. */
export const SMALL_LIMITS = { perClient: 3, total: 5 };

interface UsedAssertionsUnderTest {
  /** Two processes of the service, or the same store twice. */
  readonly stores: readonly [UsedAssertions, UsedAssertions];
  /** Waits for so many seconds. */
  readonly wait: (seconds: number) => Promise<void>;
  /**
   * Sets the clock of the store and that of the processes ahead by so many seconds. A store need not look at either.
   */
  readonly setClocks: (store: number, processes: number) => Promise<void>;
  /** Lets the stores notice how full they are. */
  readonly settle: () => Promise<void>;
}

let lastId = 0;
const anId = () => {
  lastId += 1;
  return `id-${lastId}-${process.pid}`;
};
const useOf = (clientId: string, assertionId = anId(), keptSeconds = 300): AssertionUse => ({
  clientId,
  assertionId,
  keptSeconds,
});

/** What every store of used assertions promises. */
export function describeUsedAssertions(name: string, fresh: () => Promise<UsedAssertionsUnderTest>): void {
  describe(`${name} keeps the promises of UsedAssertions`, () => {
    it('finds the first use of an assertion, and every later one, in each process', async () => {
      const { stores } = await fresh();
      const use = useOf('a');
      expect(await stores[0].use([use])).toEqual(['first']);
      for (const store of stores) expect(await store.use([use])).toEqual(['replayed']);
    });

    it('answers each use of a batch, in order', async () => {
      const [store] = (await fresh()).stores;
      const [one, two] = [useOf('a'), useOf('a')];
      expect(await store.use([])).toEqual([]);
      expect(await store.use([one, two, one])).toEqual(['first', 'first', 'replayed']);
      expect(await store.use([two, useOf('b'), one])).toEqual(['replayed', 'first', 'replayed']);
    });

    it('distinguishes ids and clients exactly', async () => {
      const [store] = (await fresh()).stores;
      const id = anId();
      const uses = [
        useOf('a', id),
        useOf('A', id),
        useOf('a', `${id} `),
        useOf('a', id.toUpperCase()),
        useOf('a ', id),
      ];
      expect(await store.use(uses)).toEqual(uses.map(() => 'first'));
    });

    it('takes any text as an id', async () => {
      const [store] = (await fresh()).stores;
      const uses = ["' or 1=1 --", '\0🔑', '\ud800', 'x'.repeat(255)].map((id, index) => useOf(`c${index}`, id));
      expect(await store.use(uses)).toEqual(uses.map(() => 'first'));
      expect(await store.use(uses)).toEqual(uses.map(() => 'replayed'));
    });

    it('finds exactly one first use of several at the same time', async () => {
      const { stores } = await fresh();
      const use = useOf('a');
      const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => stores[index % 2]?.use([use])));
      expect(answers.flat().filter((outcome) => outcome === 'first')).toHaveLength(1);
      expect(answers.flat().filter((outcome) => outcome === 'replayed')).toHaveLength(11);
    });

    it('forgets a use when its time is over, and not before', async () => {
      const { stores, wait } = await fresh();
      const [short, long] = [useOf('a', anId(), 2), useOf('a', anId(), 300)];
      expect(await stores[0].use([short, long])).toEqual(['first', 'first']);
      expect(await stores[1].use([short, long])).toEqual(['replayed', 'replayed']);
      await wait(3);
      expect(await stores[1].use([short, long])).toEqual(['first', 'replayed']);
    });

    it.each([
      ['the clock of the store is', 7_200, 0],
      ['the clock of the processes is', 0, 7_200],
      ['the clock of the store was', -7_200, 0],
    ])('finds a use while %s two hours off, and when it is right again', async (_whose, store, processes) => {
      const { stores, setClocks, settle } = await fresh();
      const [before, meanwhile] = [useOf('a'), useOf('a')];
      expect(await stores[0].use([before])).toEqual(['first']);
      await setClocks(store, processes);
      try {
        expect(await stores[1].use([before])).toEqual(['replayed']);
        if (processes === 0) expect(await stores[1].use([meanwhile])).toEqual(['first']);
        await settle();
        expect(await stores[1].use([before])).toEqual(['replayed']);
      } finally {
        await setClocks(0, 0);
      }
      await settle();
      for (const one of stores) expect(await one.use([before])).toEqual(['replayed']);
      if (processes === 0) expect(await stores[0].use([meanwhile])).toEqual(['replayed']);
    });

    it('records no more uses of a client than its share, and forgets none for it', async () => {
      const { stores, settle } = await fresh();
      const uses = [useOf('a'), useOf('a'), useOf('a')];
      expect(await stores[0].use(uses)).toEqual(['first', 'first', 'first']);
      await settle();
      for (const store of stores) expect(await store.use([useOf('a'), useOf('b', 'same')])).toContain('client_full');
      expect((await stores[0].use(uses)).includes('first')).toBe(false);
    });

    it('records no more uses than it has room for, and has room again when their time is over', async () => {
      const { stores, settle, wait } = await fresh();
      const brief = (clientId: string) => useOf(clientId, anId(), 2);
      const uses = ['a', 'a', 'b', 'b', 'c'].map(brief);
      expect(await stores[0].use(uses)).toEqual(uses.map(() => 'first'));
      await settle();
      for (const store of stores) expect(await store.use([useOf('d')])).toEqual(['full']);
      await wait(13);
      await settle();
      expect(await stores[1].use([useOf('d')])).toEqual(['first']);
    });
  });
}
