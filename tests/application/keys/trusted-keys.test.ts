import { describe, expect, it } from '@jest/globals';
import { jwksOf, type TrustedKey, TrustedKeys } from '../../../application/keys/trusted-keys.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { pooledKeyFactory } from '../../support/pooled-key-factory.ts';

const NOW = 1_000;

async function aKey(trustedUntil: number): Promise<TrustedKey> {
  return { jwk: (await pooledKeyFactory().make('RS256')).jwk, trustedUntil };
}

describe('TrustedKeys', () => {
  it('trusts a key up to, and without, the second in which its trust ends', async () => {
    const clock = new FixedClock(NOW);
    const keys = new TrustedKeys(pooledKeyFactory(), clock);
    const key = await aKey(NOW + 2);
    keys.replace(await keys.read([key]));
    clock.advance(1);
    expect(keys.find(key.jwk.kid)).toBeDefined();
    expect(keys.list()).toEqual([key]);
    clock.advance(1);
    expect(keys.find(key.jwk.kid)).toBeUndefined();
    expect(keys.list()).toEqual([]);
  });

  it('trusts nothing that is only read, and only the keys of the last replacement', async () => {
    const keys = new TrustedKeys(pooledKeyFactory(), new FixedClock(NOW));
    const [one, other] = [await aKey(NOW + 1), await aKey(NOW + 1)];
    const read = await keys.read([one]);
    expect(keys.list()).toEqual([]);
    keys.replace(read);
    keys.replace(await keys.read([other]));
    expect(keys.find(one.jwk.kid)).toBeUndefined();
    expect(keys.find(other.jwk.kid)).toBeDefined();
  });

  it('reads a key once, and again when it has changed under the same id', async () => {
    const factory = pooledKeyFactory();
    const seen: unknown[] = [];
    const watched: typeof factory = {
      ...factory,
      read(jwk) {
        seen.push(jwk.n);
        return factory.read(jwk);
      },
    };
    const keys = new TrustedKeys(watched, new FixedClock(NOW));
    const [one, other] = [(await factory.make('RS256')).jwk, (await factory.make('RS256')).jwk];
    const trusted = { jwk: one, trustedUntil: NOW + 1 };
    keys.replace(await keys.read([trusted]));
    const handle = keys.find(one.kid);
    keys.replace(await keys.read([trusted]));
    expect(keys.find(one.kid)).toBe(handle);
    expect(seen).toEqual([one.n]);
    keys.replace(await keys.read([{ ...trusted, jwk: { ...one, n: String(other.n) } }]));
    expect(seen).toEqual([one.n, other.n]);
    keys.replace(await keys.read([{ ...trusted, jwk: { ...one, n: String(other.n), e: 'Aw' } }]));
    expect(seen).toHaveLength(3);
    expect(keys.find(one.kid)).toBeDefined();
    expect(keys.find(one.kid)).not.toBe(handle);
  });

  it('ignores a key that cannot verify', async () => {
    const keys = new TrustedKeys(pooledKeyFactory(), new FixedClock(NOW));
    const [good, bad] = [await aKey(NOW + 1), await aKey(NOW + 1)];
    const read = await keys.read([{ ...bad, jwk: { ...bad.jwk, e: 'AQ' } }, good]);
    expect(read.map(({ jwk }) => jwk.kid)).toEqual([good.jwk.kid]);
  });
});

describe('jwksOf', () => {
  it('sorts by id, has each id once, copies, and is never empty, which could make readers drop their cached keys', async () => {
    const { jwk } = await aKey(NOW);
    const keys = ['b', 'a', 'c', 'a'].map((kid, index) => ({ jwk: { ...jwk, kid, e: `${index}` }, trustedUntil: NOW }));
    expect(jwksOf(keys).map(({ kid, e }) => [kid, e])).toEqual([
      ['a', '3'],
      ['b', '0'],
      ['c', '2'],
    ]);
    expect(jwksOf(keys)[0]).not.toBe(keys[3]?.jwk);
    expect(() => jwksOf([])).toThrow(DependencyUnavailable);
  });
});
