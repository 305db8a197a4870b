import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { KeyFactory } from '../../application/ports/key-provider.ts';
import type { TokenAlgorithm, TokenKey } from '../../domain/token-key.ts';
import { isSignedBy, PUBLIC_FIELDS } from '../support/token-algorithms.ts';

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

const INPUT = 'to be signed';

/** What every key factory promises. Its keys are for `alg`. */
export function describeKeyFactory(
  name: string,
  fresh: () => Promise<KeyFactory>,
  alg: TokenAlgorithm = 'RS256',
): void {
  describe(`${name} as a key factory for ${alg}`, () => {
    it('generates a matching pair, and reads the public half back', async () => {
      const factory = await fresh();
      const { kid, publicKey, jwk, sign, ...pair } = await factory.make(alg);
      const signature = await sign(INPUT);
      expect(await isSignedBy(alg, publicKey, signature, INPUT)).toBe(true);
      expect(await isSignedBy(alg, await factory.read(jwk), signature, INPUT)).toBe(true);
      expect(await isSignedBy(alg, jwk, signature, INPUT)).toBe(true);
      expect(pair.alg).toBe(alg);
      expect(jwk).toMatchObject({ use: 'sig', alg, kid });
      expect(Object.keys(jwk).toSorted()).toEqual(PUBLIC_FIELDS[alg]);
    });

    it('makes signatures of one length, whatever they are', async () => {
      const { sign } = await (await fresh()).make(alg);
      // The numbers of a signature by ES256 are shorter than their place in one of 128.
      const signatures = await Promise.all(Array.from({ length: alg === 'ES256' ? 2_000 : 20 }, () => sign(INPUT)));
      expect(new Set(signatures.map(({ length }) => length)).size).toBe(1);
    });

    it('generates keys whose private half cannot be exported', async () => {
      expect(inspect(await (await fresh()).make(alg), { depth: null, showHidden: true })).not.toMatch(/private/i);
    });

    it.each(UNUSABLE[alg])('reads no key from %s', async (_name, fields) => {
      const factory = await fresh();
      const { jwk } = await factory.make(alg);
      expect(await factory.read({ ...jwk, ...fields } as TokenKey)).toBeUndefined();
    });

    if (alg === 'RS256' || alg === 'PS256') {
      it('reads a key with the exponent 3', async () => {
        const factory = await fresh();
        const { jwk } = await factory.make(alg);
        expect(await factory.read({ ...jwk, e: 'Aw' })).toBeDefined();
      });
    }
  });
}
