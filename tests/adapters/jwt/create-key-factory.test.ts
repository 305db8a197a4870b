import { describe, expect, it } from '@jest/globals';
import { createKeyFactory, PrivateKeys, readSigningKey } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyPair } from '../../../application/ports/key-provider.ts';
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../../../domain/token-key.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { isSignedBy, OTHER_ALGORITHMS } from '../../support/token-algorithms.ts';

const fresh = (algorithm?: TokenAlgorithm) =>
  createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, algorithm });

describeKeyFactory('createKeyFactory in memory', async () => fresh());
for (const algorithm of OTHER_ALGORITHMS) {
  describeKeyFactory('createKeyFactory in memory', async () => fresh(algorithm), algorithm);
}

describe('createKeyFactory in memory', () => {
  it('names its keys by a UUID', async () => {
    const { kid } = await fresh().make('RS256');
    expect(kid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('makes another key each time', async () => {
    expect((await fresh().make('ES256')).jwk.x).not.toBe((await fresh().make('ES256')).jwk.x);
    const [one, other] = await Promise.all([fresh().make('RS256'), fresh().make('RS256')]);
    expect(one.jwk.n).not.toBe(other.jwk.n);
    expect(one.kid).not.toBe(other.kid);
  });

  it('makes a modulus of 2048 bits and the exponent 65537', async () => {
    const { jwk } = await fresh().make('RS256');
    expect(Buffer.from(String(jwk.n), 'base64url')).toHaveLength(256);
    expect(jwk.e).toBe('AQAB');
  });
});

describe('the private keys for workers', () => {
  const withKeys = async (count: number) => {
    const privateKeys = new PrivateKeys();
    const factory = createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, privateKeys });
    const made: KeyPair[] = [];
    // One after the other, since the order decides which of them is older.
    while (made.length < count) made.push(await factory.make('RS256'));
    return { privateKeys, made };
  };

  it.each(TOKEN_ALGORITHMS)('are given as PKCS#8, from which a worker makes the same key for %s', async (alg) => {
    const privateKeys = new PrivateKeys();
    const factory = createKeyFactory({
      ids: new RandomIdGenerator(),
      threads: threadsAtOnce,
      algorithm: alg,
      privateKeys,
    });
    const { kid, jwk, publicKey } = await factory.make(alg);
    const received = await readSigningKey(kid, alg, privateKeys.signing(kid) ?? new Uint8Array(), threadsAtOnce);
    expect(received.jwk).toEqual(jwk);
    expect(await isSignedBy(alg, publicKey, await received.sign('input'), 'input')).toBe(true);
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
