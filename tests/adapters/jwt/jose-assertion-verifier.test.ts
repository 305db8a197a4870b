import { describe, expect, it } from '@jest/globals';
import { IMPORTED_KEYS_MAX, JoseAssertionVerifier } from '../../../adapters/jwt/jose-assertion-verifier.ts';
import { describeAssertionVerifier } from '../../contracts/assertion-verifier.ts';
import { compactJws, generateSigningKey, parsed } from '../../support/assertions.ts';

describeAssertionVerifier('JoseAssertionVerifier', () => new JoseAssertionVerifier());

describe('JoseAssertionVerifier', () => {
  const assertionBy = ({ algorithm, seal }: ReturnType<typeof generateSigningKey>) =>
    parsed(compactJws({ alg: algorithm }, { sub: 'client', aud: 'issuer', exp: 1 }, seal));

  it('keeps the imported keys that verified something, and no others', async () => {
    const verifier = new JoseAssertionVerifier();
    const [right, wrong] = [generateSigningKey('ES256'), generateSigningKey('ES256')];
    await verifier.verify(assertionBy(wrong), [right.jwk]);
    await verifier.verify(assertionBy(wrong), []);
    expect(verifier.importedKeys).toBe(0);
    for (let time = 0; time < 3; time += 1) await verifier.verify(assertionBy(right), [{ ...right.jwk }]);
    expect(verifier.importedKeys).toBe(1);
  });

  it(`keeps at most ${IMPORTED_KEYS_MAX} imported keys, and verifies with every other one too`, async () => {
    const verifier = new JoseAssertionVerifier();
    const first = generateSigningKey('EdDSA');
    await verifier.verify(assertionBy(first), [first.jwk]);
    for (let count = 0; count < IMPORTED_KEYS_MAX + 10; count += 1) {
      const pair = generateSigningKey('EdDSA');
      expect(await verifier.verify(assertionBy(pair), [pair.jwk])).toBe('verified');
    }
    expect(verifier.importedKeys).toBe(IMPORTED_KEYS_MAX);
    expect(await verifier.verify(assertionBy(first), [first.jwk])).toBe('verified');
    expect(verifier.importedKeys).toBe(IMPORTED_KEYS_MAX);
  });
});
