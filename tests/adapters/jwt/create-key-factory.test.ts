import { describe, expect, it } from '@jest/globals';
import { createKeyFactory, PrivateKeys, readSigningKey } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyPair } from '../../../application/ports/key-factory.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';

const fresh = () => createKeyFactory({ ids: new RandomIdGenerator() });

describeKeyFactory('createKeyFactory in memory', async () => fresh());

describe('createKeyFactory in memory', () => {
  it('names its keys by a UUID', async () => {
    const { kid } = await fresh().make();
    expect(kid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('makes another key each time', async () => {
    const [one, other] = await Promise.all([fresh().make(), fresh().make()]);
    expect(one.jwk.n).not.toBe(other.jwk.n);
    expect(one.kid).not.toBe(other.kid);
  });

  it('makes a modulus of 2048 bits and the exponent 65537', async () => {
    const { jwk } = await fresh().make();
    expect(Buffer.from(jwk.n, 'base64url')).toHaveLength(256);
    expect(jwk.e).toBe('AQAB');
  });
});

describe('the private keys for workers', () => {
  const withKeys = async (count: number) => {
    const privateKeys = new PrivateKeys();
    const factory = createKeyFactory({ ids: new RandomIdGenerator(), privateKeys });
    const made: KeyPair[] = [];
    // One after the other, since the order decides which of them is older.
    while (made.length < count) made.push(await factory.make());
    return { privateKeys, made };
  };

  it('are given as PKCS#8, from which a worker makes the same key', async () => {
    const { privateKeys, made } = await withKeys(1);
    for (const { kid, jwk, sign } of made) {
      const received = await readSigningKey(kid, privateKeys.signing(kid) ?? new Uint8Array());
      expect(received.jwk).toEqual(jwk);
      expect(Buffer.from(received.sign(Buffer.from('data')))).toEqual(Buffer.from(sign(Buffer.from('data'))));
    }
  });

  it('are dropped when a newer one signs, and a key that was never made is none', async () => {
    const { privateKeys, made } = await withKeys(3);
    const [first, second, third] = made.map(({ kid }) => privateKeys.signing(kid) && kid);
    expect([first, second, third]).toEqual(made.map(({ kid }) => kid));
    expect(made.map(({ kid }) => privateKeys.signing(kid) !== undefined)).toEqual([false, false, true]);
    expect(privateKeys.signing('another')).toBeUndefined();
  });

  it('stay while an older one still signs', async () => {
    const { privateKeys, made } = await withKeys(2);
    expect(privateKeys.signing('another')).toBeUndefined();
    expect(made.map(({ kid }) => privateKeys.signing(kid) !== undefined)).toEqual([true, true]);
  });
});
