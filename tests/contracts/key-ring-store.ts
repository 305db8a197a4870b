import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KeyRingRecords } from '../../application/ports/key-ring-records.ts';
import {
  KEPT_STEPS,
  KEY_ROWS_MAX,
  type KeyRingStore,
  type KeyRow,
  type SealedKey,
} from '../../application/ports/key-ring-store.ts';

/** An empty ring. */
interface KeyRingUnderTest {
  readonly store: KeyRingStore;
  /** Another replica's. */
  readonly other: KeyRingStore;
  /** Now, in seconds of the clock of its times. */
  now(): number;
  close(): Promise<void>;
}

/** An empty ring that operators can reach. */
interface ManagedKeyRing extends KeyRingUnderTest {
  readonly records: KeyRingRecords;
  /** Adds so many rows, in a way that no replica has. */
  plant(rows: number): Promise<void>;
}

const rowsOf = async (store: KeyRingStore) => (await store.read()).rows;
const find = async (store: KeyRingStore, kid: string) => (await rowsOf(store)).find((row) => row.kid === kid);

function keyAt(time: number, kid: string, step: number, more: Partial<SealedKey> = {}): SealedKey {
  const now = Math.floor(time);
  const times = { signsFrom: now + 1_000, verifiesUntil: now + 90_000, addedBefore: now + 100 };
  return { algorithm: 'RS256', kid, step, sealed: `sealed ${kid}`, publicationSeconds: 60, ...times, ...more };
}

/** What every KeyRingStore promises. `fresh` creates an empty one. */
export function describeKeyRingStore(name: string, fresh: () => Promise<KeyRingUnderTest>): void {
  describe(`${name} as KeyRingStore`, () => {
    let under: KeyRingUnderTest;
    let store: KeyRingStore;
    beforeEach(async () => {
      under = await fresh();
      store = under.store;
    });
    afterEach(() => under.close());
    const aKey = (kid: string, step: number, more?: Partial<SealedKey>) => keyAt(under.now(), kid, step, more);

    it('is empty at first, and tells the time of its clock', async () => {
      const { rows, time } = await store.read();
      expect(rows).toEqual([]);
      if (time !== undefined) expect(Math.abs(time - under.now())).toBeLessThan(60);
    });

    it('shows a key that was added to every replica, as it was given, and when it has been published for long enough', async () => {
      const key = aKey('one', 0, { sealed: 'x'.repeat(10_000) });
      await store.add(key);
      const row = (await find(under.other, 'one')) as KeyRow;
      const { publicationSeconds: _publication, addedBefore: _before, ...given } = key;
      expect(row).toMatchObject({ ...given, endedAt: undefined, revokedAt: undefined });
      expect(row.knownAt).toBe(row.createdAt + 60);
      expect(Math.abs(row.createdAt - under.now())).toBeLessThan(60);
    });

    it('keeps one key for each algorithm and step, the first', async () => {
      await store.add(aKey('one', 0));
      await under.other.add(aKey('two', 0));
      await store.add(aKey('other algorithm', 0, { algorithm: 'ES256' }));
      await store.add(aKey('next', 1));
      expect((await rowsOf(store)).map(({ kid }) => kid).toSorted()).toEqual(['next', 'one', 'other algorithm']);
    });

    it('keeps exactly one of many keys for one step that are added at the same moment', async () => {
      const keys = Array.from({ length: 8 }, (_, number) => aKey(`key-${number}`, 3));
      await Promise.all(keys.map((key, index) => (index % 2 === 0 ? store : under.other).add(key)));
      expect(await rowsOf(store)).toHaveLength(1);
    });

    it('adds no key whose time to be added is over', async () => {
      await store.add(aKey('late', 0, { addedBefore: Math.floor(under.now()) }));
      expect(await rowsOf(store)).toEqual([]);
    });

    it('deletes keys that ended more than an hour ago, when another key is added, but none of the last 100 steps', async () => {
      const now = Math.floor(under.now());
      const isShared = (await store.read()).time !== undefined;
      await store.add(aKey('ended', 0, { verifiesUntil: now - 4_000 }));
      await store.add(aKey('ending', 1, { verifiesUntil: now - 3_000 }));
      await store.add(aKey('ended, of the last steps', 2, { verifiesUntil: now - 4_000 }));
      await store.add(aKey('next', KEPT_STEPS + 1));
      await store.add(aKey('after', KEPT_STEPS + 2));
      const kids = (await rowsOf(store)).map(({ kid }) => kid).toSorted();
      expect(kids).toEqual(isShared ? ['after', 'ended, of the last steps', 'ending', 'next'] : ['after', 'next']);
    });

    it('writes back rows that were lost, as they were, and none whose id or step is taken', async () => {
      await store.add(aKey('one', 0));
      await store.add(aKey('two', 1));
      const [one, two] = (await rowsOf(store)).toSorted((a, b) => a.kid.localeCompare(b.kid)) as [KeyRow, KeyRow];
      const lost = { ...two, kid: 'lost', step: 2, endedAt: two.signsFrom + 5, sealed: 'sealed and lost' };
      await under.other.restore([{ ...one, sealed: 'another' }, { ...two, kid: 'same step' }, lost]);
      await under.other.restore([lost]);
      expect((await rowsOf(store)).toSorted((a, b) => a.kid.localeCompare(b.kid))).toEqual([lost, one, two]);
    });
  });
}

/** What every KeyRingRecords promises of a ring that replicas share. `fresh` creates an empty one. */
export function describeKeyRingRecords(name: string, fresh: () => Promise<ManagedKeyRing>): void {
  describe(`${name} as KeyRingRecords`, () => {
    let under: ManagedKeyRing;
    let store: KeyRingStore;
    let records: KeyRingRecords;
    beforeEach(async () => {
      under = await fresh();
      ({ store, records } = under);
    });
    afterEach(() => under.close());
    const aKey = (kid: string, step: number, more?: Partial<SealedKey>) => keyAt(under.now(), kid, step, more);

    it('erases what is sealed of a revoked key, keeps its row, and revokes it only once', async () => {
      await store.add(aKey('one', 0));
      await store.add(aKey('two', 1));
      expect(await records.revoke({ kid: 'one' })).toEqual(['one']);
      const row = (await find(store, 'one')) as KeyRow;
      expect(row).toMatchObject({ step: 0, sealed: undefined, algorithm: 'RS256' });
      expect(Math.abs((row.revokedAt ?? 0) - under.now())).toBeLessThan(60);
      expect(await find(store, 'two')).toMatchObject({ revokedAt: undefined, sealed: 'sealed two' });
      expect(await records.revoke({ kid: 'one' })).toEqual([]);
      expect(await find(store, 'one')).toEqual(row);
    });

    it('never gives its step, nor its id, to another key', async () => {
      await store.add(aKey('one', 0));
      await records.revoke({ kid: 'one' });
      await store.add(aKey('two', 0));
      await store.add(aKey('one', 1));
      expect((await rowsOf(store)).map(({ kid }) => kid)).toEqual(['one']);
      expect(await find(store, 'one')).toMatchObject({ step: 0, sealed: undefined });
    });

    it('revokes a key that it does not know, so that no backup brings it back', async () => {
      expect(await records.revoke({ kid: 'lost' })).toEqual(['lost']);
      const row = (await find(store, 'lost')) as KeyRow;
      expect(row).toMatchObject({ algorithm: undefined, step: undefined, sealed: undefined });
      expect(row.verifiesUntil).toBeGreaterThan(under.now() + 366 * 86_400);
      await store.add(aKey('lost', 0));
      expect(await find(store, 'lost')).toEqual(row);
    });

    it('revokes all keys at once, in an empty ring none', async () => {
      expect(await records.revoke('all')).toEqual([]);
      await store.add(aKey('one', 0));
      await store.add(aKey('two', 0, { algorithm: 'EdDSA' }));
      await records.revoke({ kid: 'one' });
      expect(await records.revoke('all')).toEqual(['two']);
      expect((await rowsOf(store)).filter(({ revokedAt }) => revokedAt === undefined)).toEqual([]);
    });

    it('ends a key early, and never later than it was to end', async () => {
      await store.add(aKey('one', 0));
      const at = Math.floor(under.now()) + 500;
      await records.end('one', at);
      await records.end('one', at + 500);
      expect(await find(store, 'one')).toMatchObject({ endedAt: at, sealed: 'sealed one' });
      await records.end('one', at - 100);
      expect((await find(store, 'one'))?.endedAt).toBe(at - 100);
      await records.end('unknown', at);
      expect(await rowsOf(store)).toHaveLength(1);
    });

    it.each([
      ['only in case', 'key', 'KEY'],
      ['in a space after', 'key', 'key '],
      ['in how an accent is written', 'caf\u00e9', 'cafe\u0301'],
      ['from a statement', 'key', "'); delete from key_ring; --"],
      ['beyond the basic plane', '\u{1F511}', '\u{1F512}'],
    ])('distinguishes key ids that differ %s', async (_how, one, other) => {
      await store.add(aKey(one, 0));
      await store.add(aKey(other, 1));
      await records.revoke({ kid: other });
      expect(await find(store, one)).toMatchObject({ revokedAt: undefined });
      expect((await find(store, other))?.revokedAt).toBeDefined();
    });

    it('is not read with more rows than any ring has', async () => {
      await under.plant(KEY_ROWS_MAX);
      expect(await rowsOf(store)).toHaveLength(KEY_ROWS_MAX);
      await store.add(aKey('one more', 0));
      await expect(store.read()).rejects.toThrow('more than 1000 rows');
    });
  });
}
