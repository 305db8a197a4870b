import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KeyDirectory, SharedKey } from '../../application/ports/key-directory.ts';

/** An empty directory. */
interface KeyDirectoryUnderTest {
  readonly directory: KeyDirectory;
  /** Changes the directory as if this time had passed. */
  pass(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/** A key to publish; a directory does not check its members. */
export function aKey(kid: string, trustedSeconds = 100): SharedKey {
  return { jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n: `n-of-${kid}`, e: 'AQAB' }, trustedSeconds };
}

/** The ids of the keys that the directory trusts now, in order. */
export async function kidsIn(directory: KeyDirectory): Promise<readonly string[]> {
  return (await directory.read()).keys.map(({ jwk }) => jwk.kid).toSorted();
}

/** What every KeyDirectory promises. `fresh` creates an empty one. */
export function describeKeyDirectory(name: string, fresh: () => Promise<KeyDirectoryUnderTest>): void {
  describe(`${name} as KeyDirectory`, () => {
    let under: KeyDirectoryUnderTest;
    let directory: KeyDirectory;
    beforeEach(async () => {
      under = await fresh();
      directory = under.directory;
    });
    afterEach(() => under.close());

    it('has no keys before one is published', async () => {
      expect((await directory.read()).keys).toEqual([]);
      expect((await directory.publish([])).keys).toEqual([]);
    });

    it('returns every trusted key to a publisher, its own and those of others', async () => {
      expectKeys((await directory.publish([aKey('one')])).keys, [aKey('one')]);
      const all = [aKey('one'), aKey('two'), aKey('three')];
      const { keys, revoked } = await directory.publish(all.slice(1));
      expectKeys(keys, all);
      expect(revoked).toEqual([]);
      expectKeys((await directory.read()).keys, all);
    });

    it('keeps the new time of a key that is published again, a later one and an earlier one', async () => {
      await directory.publish([aKey('one', 100), aKey('two', 100)]);
      await directory.publish([aKey('one', 300), aKey('two', 20)]);
      expectKeys((await directory.read()).keys, [aKey('one', 300), aKey('two', 20)]);
    });

    it('trusts a key for as long as its publisher said, rounded up to a second of its clock, and no longer', async () => {
      await directory.publish([aKey('one', 100)]);
      await under.pass(80);
      expectKeys((await directory.read()).keys, [aKey('one', 20)]);
      await under.pass(21);
      expect(await kidsIn(directory)).toEqual([]);
      expect((await directory.publish([])).keys).toEqual([]);
    });

    it('deletes a key some time after it was trusted, when another key is published', async () => {
      await directory.publish([aKey('old', 100)]);
      await under.pass(100 + 86_400);
      await directory.publish([aKey('live')]);
      await under.pass(-(100 + 86_400));
      expect(await kidsIn(directory)).toEqual(['live']);
    });

    it.each([
      ['only in case', 'key', 'KEY'],
      ['in a space after', 'key', 'key '],
      ['in how an accent is written', 'caf\u00e9', 'cafe\u0301'],
      ['from a quote', "key'", "key''"],
      ['from a statement', 'key', "'); delete from signing_keys; --"],
      ['from a backslash', 'key\\', 'key\\\\'],
      ['beyond the basic plane', '\u{1F511}', '\u{1F512}'],
    ])('distinguishes key ids that differ %s', async (_how, one, other) => {
      await directory.publish([aKey(one)]);
      await directory.publish([aKey(other)]);
      expect(await kidsIn(directory)).toEqual([one, other].toSorted());
    });

    it('keeps every digit of a key of 4096 bits, and of the longest time', async () => {
      const seconds = 3_600 + 86_400;
      const key = aKey('long', seconds);
      const long = { ...key, jwk: { ...key.jwk, n: 'x'.repeat(683) } };
      await directory.publish([long]);
      expectKeys((await directory.read()).keys, [long]);
    });

    it('finds no other key for exactly one of many replicas that publish first at the same time', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, number) => directory.publish([aKey(`key-${number}`)])),
      );
      expect(answers.map(({ keys }) => keys.length).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    });

    it('is not affected by changes to the keys that it was given or has returned', async () => {
      const given = aKey('one');
      const { keys } = await directory.publish([given]);
      for (const key of [given, ...keys, ...(await directory.read()).keys]) Object.assign(key.jwk, { n: 'other' });
      expectKeys((await directory.read()).keys, [aKey('one')]);
    });
  });
}

/** Compares in any order. Times may be rounded up, and while a test runs, a few seconds may pass. */
function expectKeys(found: readonly SharedKey[], expected: readonly SharedKey[]): void {
  const byId = (keys: readonly SharedKey[]) =>
    new Map(keys.map(({ jwk, trustedSeconds }) => [jwk.kid, { jwk, trustedSeconds }]));
  const wanted = byId(expected);
  expect(found.map(({ jwk }) => jwk.kid).toSorted()).toEqual([...wanted.keys()].toSorted());
  for (const { jwk, trustedSeconds } of found) {
    const want = wanted.get(jwk.kid);
    expect(jwk).toEqual(want?.jwk);
    expect(trustedSeconds).toBeLessThanOrEqual((want?.trustedSeconds ?? 0) + 1);
    expect(trustedSeconds).toBeGreaterThan((want?.trustedSeconds ?? 0) - 15);
  }
}
