import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KeyDirectory, TrustedKey } from '../../application/ports/key-directory.ts';

/** An empty directory. */
export interface KeyDirectoryUnderTest {
  readonly directory: KeyDirectory;
  close(): Promise<void>;
}

export const NOW = 1_800_000_000;

/** A key to publish; a directory does not check its members. */
export function aKey(kid: string, trustedUntil = NOW + 100): TrustedKey {
  return { jwk: { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n: `n-of-${kid}`, e: 'AQAB' }, trustedUntil };
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
      expect(await directory.trusted(NOW)).toEqual([]);
      expect(await directory.publish([], NOW)).toEqual([]);
    });

    it('returns every trusted key to a publisher, its own and those of others', async () => {
      expect(await directory.publish([aKey('one')], NOW)).toEqual([aKey('one')]);
      expect(sorted(await directory.publish([aKey('two'), aKey('three')], NOW))).toEqual([
        aKey('one'),
        aKey('three'),
        aKey('two'),
      ]);
      expect(sorted(await directory.trusted(NOW))).toEqual([aKey('one'), aKey('three'), aKey('two')]);
    });

    it('keeps the new time of a key that is published again, a later one and an earlier one', async () => {
      await directory.publish([aKey('one', NOW + 100), aKey('two', NOW + 100)], NOW);
      await directory.publish([aKey('one', NOW + 300), aKey('two', NOW + 20)], NOW);
      expect(sorted(await directory.trusted(NOW))).toEqual([aKey('one', NOW + 300), aKey('two', NOW + 20)]);
    });

    it('returns no key from the second on in which it is no longer trusted', async () => {
      await directory.publish([aKey('one', NOW + 100)], NOW);
      expect(await directory.trusted(NOW + 99)).toHaveLength(1);
      expect(await directory.trusted(NOW + 100)).toEqual([]);
    });

    it('deletes the keys that are no longer trusted when another key is published', async () => {
      await directory.publish([aKey('old', NOW + 100), aKey('live', NOW + 101)], NOW);
      expect(await directory.publish([aKey('expired', NOW + 100)], NOW + 100)).toEqual([aKey('live', NOW + 101)]);
      expect(await directory.trusted(NOW)).toEqual([aKey('live', NOW + 101)]);
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
      await directory.publish([aKey(one)], NOW);
      await directory.publish([aKey(other)], NOW);
      const kids = (await directory.trusted(NOW)).map(({ jwk }) => jwk.kid);
      expect(kids.sort()).toEqual([one, other].sort());
    });

    it('keeps every digit of a key of 4096 bits, and of a time far ahead', async () => {
      const key = aKey('long', Number.MAX_SAFE_INTEGER);
      const long = { ...key, jwk: { ...key.jwk, n: 'x'.repeat(683) } };
      await directory.publish([long], NOW);
      expect(await directory.trusted(NOW)).toEqual([long]);
    });

    it('finds no other key for exactly one of many replicas that publish first at the same time', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, number) => directory.publish([aKey(`key-${number}`)], NOW)),
      );
      expect(answers.map((keys) => keys.length).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    });

    it('is not affected by changes to the keys that it was given or has returned', async () => {
      const given = aKey('one');
      const answered = await directory.publish([given], NOW);
      for (const key of [given, ...answered, ...(await directory.trusted(NOW))]) Object.assign(key.jwk, { n: 'other' });
      expect(await directory.trusted(NOW)).toEqual([aKey('one')]);
    });
  });
}

function sorted(keys: readonly TrustedKey[]): readonly TrustedKey[] {
  return keys.toSorted((one, other) => (one.jwk.kid < other.jwk.kid ? -1 : 1));
}
