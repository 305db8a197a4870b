import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LastUsed } from '../../application/ports/last-used.ts';

interface LastUsedUnderTest {
  readonly lastUsed: LastUsed;
  close(): Promise<void>;
}

/** What every store of last uses promises. `fresh` creates an empty one. */
export function describeLastUsed(name: string, fresh: () => Promise<LastUsedUnderTest>): void {
  describe(`${name} as LastUsed`, () => {
    let under: LastUsedUnderTest;
    let lastUsed: LastUsed;
    beforeEach(async () => {
      under = await fresh();
      lastUsed = under.lastUsed;
    });
    afterEach(() => under.close());

    it('knows nothing at first', async () => {
      expect(await lastUsed.find(['a'])).toEqual({ since: undefined, days: new Map() });
    });

    it('keeps the latest day of each client, whichever replica writes last, and the first day of the record', async () => {
      await lastUsed.record(
        new Map([
          ['a', 20_000],
          ['b', 20_000],
        ]),
        20_001,
      );
      await Promise.all([
        lastUsed.record(
          new Map([
            ['b', 20_002],
            ['a', 19_000],
          ]),
          20_002,
        ),
        lastUsed.record(
          new Map([
            ['a', 20_001],
            ['b', 20_001],
            ['c', 20_001],
          ]),
          20_003,
        ),
      ]);
      const { since, days } = await lastUsed.find(['a', 'b', 'c', 'd']);
      expect([since, days]).toEqual([
        20_001,
        new Map([
          ['a', 20_001],
          ['b', 20_002],
          ['c', 20_001],
        ]),
      ]);
    });

    it('keeps ids apart byte by byte, many at once, and forgets those that are removed', async () => {
      const ids = ['A', 'a', 'é', "o'x", '$1', ...Array.from({ length: 1_200 }, (_, number) => `client-${number}`)];
      await lastUsed.record(new Map(ids.map((id, index) => [id, 10_000 + index])), 20_000);
      expect([...(await lastUsed.find(ids)).days].toSorted()).toEqual(
        ids.map((id, index) => [id, 10_000 + index]).toSorted(),
      );
      await lastUsed.forget(ids.slice(1));
      expect(await lastUsed.find(ids)).toEqual({ since: 20_000, days: new Map([['A', 10_000]]) });
    });
  });
}
