import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { KeyProvider } from '../../application/ports/key-provider.ts';
import type { TokenSigner } from '../../application/token-signer.ts';
import type { TokenAlgorithm } from '../../domain/token-key.ts';
import { CLAIMS } from '../support/claims.ts';
import { isSignedBy } from '../support/token-algorithms.ts';

/** A signer, and the keys that it signs with. */
interface SignerUnderTest {
  readonly signer: Pick<TokenSigner, 'sign'>;
  readonly keys: KeyProvider;
}

/** What every token signer promises. `fresh` creates one. */
export function describeTokenSigner(
  name: string,
  fresh: () => Promise<SignerUnderTest>,
  alg: TokenAlgorithm = 'RS256',
): void {
  describe(`${name} as a token signer by ${alg}`, () => {
    it('returns a compact JWS: three parts in base64url, without padding or spare bits', async () => {
      const { signer } = await fresh();
      const parts = (await signer.sign(CLAIMS)).split('.');
      expect(parts).toHaveLength(3);
      for (const part of parts) expect(Buffer.from(part, 'base64url').toString('base64url')).toBe(part);
    });

    it('names the signing key and its algorithm in the header, and nothing else', async () => {
      const { signer, keys } = await fresh();
      const { kid } = await keys.signingKey();
      expect(decode(await signer.sign(CLAIMS)).header).toEqual({ kid, alg });
    });

    it('adds no claim of its own and leaves none out', async () => {
      const { signer } = await fresh();
      expect(decode(await signer.sign(CLAIMS)).payload).toEqual(CLAIMS);
    });

    it('writes the scope as an array of strings if the claims have one', async () => {
      const { signer } = await fresh();
      const claims = Object.freeze({ ...CLAIMS, scope: Object.freeze(['read', 'write']) });
      expect(decode(await signer.sign(claims)).payload).toEqual({ ...CLAIMS, scope: ['read', 'write'] });
    });

    it('takes times only from the claims, in any year', async () => {
      const { signer } = await fresh();
      const claims = { ...CLAIMS, iat: 0, nbf: 0, exp: 1 };
      expect(decode(await signer.sign(claims)).payload).toEqual(claims);
    });

    it('signs any texts in the claims, and the signature verifies with the published key', async () => {
      const { signer, keys } = await fresh();
      const { kid } = await keys.signingKey();
      const published = (await keys.publicKeys()).find((key) => key.kid === kid);
      const text = fc.string({ unit: 'grapheme', minLength: 1 });
      await fc.assert(
        fc.asyncProperty(text, text, fc.option(fc.array(text), { nil: undefined }), async (iss, sub, scope) => {
          const claims = { ...CLAIMS, iss, sub, aud: sub, ...(scope && { scope }) };
          const token = await signer.sign(claims);
          const [header, payload, signature = ''] = token.split('.');
          expect(await isSignedBy(alg, published, signature, `${header}.${payload}`)).toBe(true);
          expect(decode(token).payload).toEqual(claims);
        }),
        { numRuns: 50 },
      );
    });
  });
}

function decode(token: string): { readonly header: unknown; readonly payload: unknown } {
  const [header, payload] = token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  return { header, payload };
}
