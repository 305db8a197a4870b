import { describe, expect, it } from '@jest/globals';
import { createKeyFactory, readPublicKey } from '../../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { TokenAlgorithm, TokenKey } from '../../../domain/token-key.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { OTHER_ALGORITHMS } from '../../support/token-algorithms.ts';

const UNUSABLE_RSA: readonly [string, object][] = [
  ['a modulus of 1024 bits', { n: Buffer.alloc(128, 0xff).toString('base64url'), e: 'AQAB' }],
  ['no modulus', { n: '', e: 'AQAB' }],
  ['invalid base64url', { n: '***', e: '***' }],
  ['the exponent 1, with which anyone can forge', { e: 'AQ' }],
  ['the exponent 1 with leading zeros', { e: 'AAAB' }],
  ['the exponent 2', { e: 'Ag' }],
  ['the even exponent 65536', { e: 'AQAA' }],
  ['a key of another type', { kty: 'EC' }],
];

/** Fields that make a key unusable. */
const UNUSABLE: Readonly<Record<TokenAlgorithm, readonly [string, object][]>> = {
  RS256: UNUSABLE_RSA,
  PS256: UNUSABLE_RSA,
  ES256: [
    ['a point that is not on the curve', { x: Buffer.alloc(32, 1).toString('base64url') }],
    ['another curve', { crv: 'P-384' }],
    ['a key for another algorithm', { alg: 'RS256' }],
    ['half of a point', { y: '' }],
  ],
  EdDSA: [
    ['a short point', { x: Buffer.alloc(31, 1).toString('base64url') }],
    ['another curve', { crv: 'X25519' }],
    ['a key for another algorithm', { alg: 'ES256' }],
    ['no point', { x: '' }],
  ],
};

const fresh = () => createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce });

describeKeyFactory('createKeyFactory in memory', async () => fresh());
for (const algorithm of OTHER_ALGORITHMS) {
  describeKeyFactory('createKeyFactory in memory', async () => fresh(), algorithm);
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

describe.each(Object.entries(UNUSABLE))('readPublicKey for %s', (algorithm, unusable) => {
  const publicKey = async () => (await fresh().make(algorithm as TokenAlgorithm)).jwk;

  it('reads the public half of a pair', async () => {
    expect(await readPublicKey(await publicKey())).toBeDefined();
  });

  it.each(unusable)('reads no key from %s', async (_name, fields) => {
    expect(await readPublicKey({ ...(await publicKey()), ...fields } as TokenKey)).toBeUndefined();
  });
});

it('readPublicKey reads an RSA key with the exponent 3', async () => {
  const { jwk } = await fresh().make('RS256');
  expect(await readPublicKey({ ...jwk, e: 'Aw' })).toBeDefined();
});
