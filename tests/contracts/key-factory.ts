import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { KeyFactory } from '../../application/ports/key-provider.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import { isSignedBy, PUBLIC_FIELDS } from '../support/token-algorithms.ts';

const INPUT = 'to be signed';

/** What every key factory promises. Its keys are for `alg`. */
export function describeKeyFactory(
  name: string,
  fresh: () => Promise<KeyFactory>,
  alg: TokenAlgorithm = 'RS256',
): void {
  describe(`${name} as a key factory for ${alg}`, () => {
    it('generates a matching pair', async () => {
      const { kid, publicKey, jwk, sign, ...pair } = await (await fresh()).make(alg);
      const signature = await sign(INPUT);
      expect([await publicKey.verify(INPUT, signature), await publicKey.verify('another', signature)]).toEqual([
        true,
        false,
      ]);
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
  });
}
