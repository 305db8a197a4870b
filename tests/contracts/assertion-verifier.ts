import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { AssertionVerifier } from '../../application/ports/assertion-verifier.ts';
import { ASSERTION_ALGORITHMS, type AssertionAlgorithm, type PublicJwk } from '../../domain/public-jwk.ts';
import { compactJws, generateSigningKey, parsed, type Seal, sealedWith } from '../support/assertions.ts';

const PAYLOAD = { iss: 'client', sub: 'client', aud: 'https://issuer.test', exp: 1_800_000_000, jti: 'once' };

const RIGHT = Object.fromEntries(ASSERTION_ALGORITHMS.map((name) => [name, generateSigningKey(name)]));
const OTHER = Object.fromEntries(ASSERTION_ALGORITHMS.map((name) => [name, generateSigningKey(name)]));
const right = (algorithm: AssertionAlgorithm) => RIGHT[algorithm] ?? generateSigningKey(algorithm);
const other = (algorithm: AssertionAlgorithm) => OTHER[algorithm] ?? generateSigningKey(algorithm);

const assertionOf = (header: object, seal: Seal) => parsed(compactJws(header, PAYLOAD, seal));

/** What every verifier of assertions promises. */
export function describeAssertionVerifier(name: string, fresh: () => AssertionVerifier): void {
  describe(`${name} keeps the promises of AssertionVerifier`, () => {
    describe.each(ASSERTION_ALGORITHMS)('%s', (algorithm) => {
      const { seal, jwk } = right(algorithm);
      const named: PublicJwk = { ...jwk, kid: 'the-key', alg: algorithm };

      it('verifies an assertion that names its key', async () => {
        const assertion = assertionOf({ alg: algorithm, kid: 'the-key' }, seal);
        const verifier = fresh();
        expect(await verifier.verify(assertion, [named])).toBe('verified');
        expect(await verifier.verify(assertion, [{ ...other(algorithm).jwk, kid: 'before' }, named])).toBe('verified');
      });

      it('verifies with a key that is not bound to an algorithm and has no id', async () => {
        expect(await fresh().verify(assertionOf({ alg: algorithm }, seal), [jwk])).toBe('verified');
      });

      it('tries every key of the algorithm without a key id, up to four', async () => {
        const assertion = assertionOf({ alg: algorithm }, seal);
        const foreign = ASSERTION_ALGORITHMS.filter((one) => one.slice(1) !== algorithm.slice(1));
        const unfit = foreign.map((one) => right(one).jwk);
        const before = [
          other(algorithm).jwk,
          { ...other(algorithm).jwk, kid: 'a' },
          { ...other(algorithm).jwk, kid: 'b' },
        ];
        expect(await fresh().verify(assertion, [...unfit, ...before, named])).toBe('verified');
        expect(await fresh().verify(assertion, [...before, { ...other(algorithm).jwk, kid: 'c' }, named])).toBe(
          'signature_wrong',
        );
      });

      it('finds the signature of another key wrong, each time', async () => {
        const verifier = fresh();
        const assertion = assertionOf({ alg: algorithm, kid: 'the-key' }, other(algorithm).seal);
        expect(await verifier.verify(assertion, [named])).toBe('signature_wrong');
        expect(await verifier.verify(assertionOf({ alg: algorithm, kid: 'the-key' }, seal), [named])).toBe('verified');
        expect(await verifier.verify(assertion, [named])).toBe('signature_wrong');
      });

      it('knows no key without keys, or with another id, type or algorithm', async () => {
        const verifier = fresh();
        const assertion = assertionOf({ alg: algorithm, kid: 'the-key' }, seal);
        for (const one of ASSERTION_ALGORITHMS.filter((alg) => alg !== algorithm)) {
          expect(await verifier.verify(assertion, [{ ...right(one).jwk, alg: one, kid: 'the-key' }])).toBe(
            'key_unknown',
          );
        }
        expect(await verifier.verify(assertion, [])).toBe('key_unknown');
        expect(await verifier.verify(assertion, [jwk])).toBe('key_unknown');
        for (const kid of ['', 'The-key', 'the-key ', 'the-ke']) {
          expect(await verifier.verify(assertion, [{ ...named, kid }])).toBe('key_unknown');
        }
      });

      it('finds a changed assertion wrong: another header, payload, length or spelling of the signature', async () => {
        const verifier = fresh();
        const compact = compactJws({ alg: algorithm }, PAYLOAD, seal);
        const [head = '', payload = '', signature = ''] = compact.split('.');
        const otherHead = Buffer.from(JSON.stringify({ alg: algorithm, typ: 'JWT' })).toString('base64url');
        const otherPayload = Buffer.from(JSON.stringify({ ...PAYLOAD, sub: 'other' })).toString('base64url');
        for (const changed of [
          `${otherHead}.${payload}.${signature}`,
          `${head}.${otherPayload}.${signature}`,
          `${compact}AAAA`,
          compact.slice(0, -4),
          `${head}.${payload}.${signature.slice(4)}`,
          `${head}.${payload}.${signature.at(0) === 'A' ? 'B' : 'A'}${signature.slice(1)}`,
          respelled(compact),
        ]) {
          expect([changed.length, await verifier.verify(parsed(changed), [jwk])]).toEqual([
            changed.length,
            'signature_wrong',
          ]);
        }
      });

      it('finds any other bytes wrong, of every length, and throws for none', async () => {
        const verifier = fresh();
        for (const bytes of [1, 32, 63, 64, 65, 71, 96, 97, 132, 255, 256, 257, 384, 512, 513, 2_000]) {
          for (const signature of [randomBytes(bytes), Buffer.alloc(bytes), Buffer.alloc(bytes, 0xff)]) {
            const assertion = assertionOf({ alg: algorithm }, () => signature);
            expect(await verifier.verify(assertion, [named])).toBe('signature_wrong');
            expect(await verifier.verify(assertion, [])).toBe('key_unknown');
          }
        }
      });
    });

    it('reads Ed25519 as EdDSA (RFC 9864)', async () => {
      const { seal, jwk } = right('EdDSA');
      expect(await fresh().verify(assertionOf({ alg: 'Ed25519' }, seal), [jwk])).toBe('verified');
    });

    it.each([2048, 2056, 3072, 4096])('verifies with RSA keys of %d bits, with a zero in front too', async (bits) => {
      const { seal, jwk } = generateSigningKey('RS256', bits);
      if (jwk.kty !== 'RSA') throw new Error('no RSA key');
      const padded = Buffer.concat([Buffer.alloc(1), Buffer.from(jwk.n, 'base64url')]).toString('base64url');
      for (const n of [jwk.n, padded]) {
        expect(await fresh().verify(assertionOf({ alg: 'RS256' }, seal), [{ ...jwk, n }])).toBe('verified');
      }
    });

    it.each([
      ['a signature of PS256 in a header with RS256', 'RS256', 'PS256'],
      ['a signature of RS256 in a header with PS256', 'PS256', 'RS256'],
    ] as const)('finds %s wrong', async (_what, named, actual) => {
      const { jwk, privateKey } = right(named);
      const assertion = assertionOf({ alg: named }, sealedWith(actual, privateKey));
      expect(await fresh().verify(assertion, [jwk])).toBe('signature_wrong');
    });

    it.each(['none', 'HS256', 'RS384', 'PS512', 'ES512', 'ES256K', 'rs256', 'RS256 ', 'toString', '__proto__'])(
      'knows no key for the algorithm %j',
      async (alg) => {
        const { seal, jwk } = right('RS256');
        expect(await fresh().verify(assertionOf({ alg }, seal), [jwk])).toBe('key_unknown');
      },
    );

    it('finds the signature wrong if the key cannot be used: its point is not on the curve', async () => {
      const jwk: PublicJwk = { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) };
      expect(await fresh().verify(assertionOf({ alg: 'ES256' }, right('ES256').seal), [jwk])).toBe('signature_wrong');
    });
  });
}

/** The same bytes with other unused bits in the last character, if there are any; else a longer text. */
function respelled(compact: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const unused = [0, 0, 4, 2][(compact.length - compact.lastIndexOf('.') - 1) % 4] ?? 0;
  const last = alphabet.indexOf(compact.at(-1) ?? '');
  return unused === 0 ? `${compact}A` : `${compact.slice(0, -1)}${alphabet[last ^ 1]}`;
}
