import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { TokenSigner } from '../../application/token-signer.ts';
import { anyText } from '../support/any-text.ts';
import { CLAIMS } from '../support/claims.ts';
import type { TokenVerifier } from '../support/token-verifier.ts';

/** A verifier, and a signer whose keys it trusts. */
interface VerifierUnderTest {
  readonly verifier: TokenVerifier;
  readonly signer: Pick<TokenSigner, 'sign'>;
}

const BROKEN_CLAIMS: Readonly<Record<string, readonly unknown[]>> = {
  iss: [undefined, null, '', 1, ['http://issuer.test'], {}],
  sub: [undefined, null, '', 1, ['a-client'], {}],
  aud: [undefined, null, '', 1, [], ['a-client'], ['a-client', 'a-client'], ['a-client', ''], ['a-client', 1], {}],
  jti: [undefined, null, '', 1, ['x'], {}],
  iat: [undefined, null, '1800000000', 1_800_000_000.5, -1, true, 2 ** 53],
  nbf: [undefined, null, '1800000000', 1_800_000_000.5, -1, true, 2 ** 53, 1_800_000_300],
  exp: [undefined, null, '1800000300', 1_800_000_300.5, -1, true, 2 ** 53, 1_800_000_000],
  scope: [null, '', [1], [''], [null], [['read']]],
};

/** What every token verifier promises. `fresh` creates a pair that trusts no keys of another pair. */
export function describeTokenVerifier(name: string, fresh: () => Promise<VerifierUnderTest>): void {
  describe(`${name} as a token verifier`, () => {
    it.each([
      ['without a scope', CLAIMS],
      ['with scopes', { ...CLAIMS, scope: ['read', 'write'] }],
      ['for several resources', { ...CLAIMS, aud: ['https://api.test', 'https://files.test/v1'] }],
      ['of texts beyond ASCII', { ...CLAIMS, sub: 'Büro-Ω-🔑', aud: 'Büro-Ω-🔑' }],
    ])('returns the claims of a token %s', async (_case, claims) => {
      const { verifier, signer } = await fresh();
      expect(await verifier.verify(await signer.sign(claims))).toEqual({ ok: true, value: claims });
    });

    it('does not check the time: it accepts the first and the last second that a token can have', async () => {
      const { verifier, signer } = await fresh();
      for (const times of [
        { iat: 0, nbf: 0, exp: 1 },
        { iat: 2 ** 52, nbf: 2 ** 52, exp: 2 ** 53 - 1 },
      ]) {
        const claims = { ...CLAIMS, ...times };
        expect(await verifier.verify(await signer.sign(claims))).toEqual({ ok: true, value: claims });
      }
    });

    it('does not check the issuer', async () => {
      const { verifier, signer } = await fresh();
      const claims = { ...CLAIMS, iss: 'https://elsewhere.test' };
      expect(await verifier.verify(await signer.sign(claims))).toEqual({ ok: true, value: claims });
    });

    it('refuses a token of a key that it does not trust', async () => {
      const [ours, theirs] = [await fresh(), await fresh()];
      const token = await theirs.signer.sign(CLAIMS);
      expect(await ours.verifier.verify(token)).toEqual({ ok: false, problem: 'token_key_unknown' });
    });

    it('refuses a token that is composed of parts of two valid tokens', async () => {
      const { verifier, signer } = await fresh();
      const [header, , signature] = (await signer.sign(CLAIMS)).split('.');
      const [, payload] = (await signer.sign({ ...CLAIMS, sub: 'another-client' })).split('.');
      const mixed = `${header}.${payload}.${signature}`;
      expect(await verifier.verify(mixed)).toEqual({ ok: false, problem: 'token_signature_wrong' });
    });

    it.each(Object.keys(BROKEN_CLAIMS))('refuses a well-signed token whose %s is absent or broken', async (claim) => {
      const { verifier, signer } = await fresh();
      for (const value of BROKEN_CLAIMS[claim] ?? []) {
        const token = await signer.sign({ ...CLAIMS, [claim]: value });
        expect(await verifier.verify(token)).toEqual({ ok: false, problem: 'token_claims_malformed' });
      }
    });

    it('refuses any other text, and throws for none', async () => {
      const { verifier } = await fresh();
      const part = fc.oneof(fc.base64String(), anyText(), fc.json());
      const text = fc.oneof(
        anyText(),
        fc.array(part, { maxLength: 6 }).map((parts) => parts.join('.')),
        fc
          .tuple(fc.json(), fc.json(), fc.string())
          .map((parts) => parts.map((json) => Buffer.from(json).toString('base64url')).join('.')),
      );
      await fc.assert(
        fc.asyncProperty(text, async (other) => {
          expect((await verifier.verify(other)).ok).toBe(false);
        }),
        { numRuns: 300 },
      );
    });
  });
}
