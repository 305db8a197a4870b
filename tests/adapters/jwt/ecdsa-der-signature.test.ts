import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ecdsaDerSignature } from '../../../adapters/jwt/ecdsa-der-signature.ts';

describe.each([
  ['P-256', 'sha256', 32],
  ['P-384', 'sha384', 48],
] as const)('a signature with %s, in DER', (namedCurve, hash, size) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });

  it('is the one that node:crypto makes of it', () => {
    for (let number = 0; number < 300; number += 1) {
      const input = Buffer.from(`input ${number}`);
      const signature = sign(hash, input, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      expect(verify(hash, input, publicKey, ecdsaDerSignature(signature))).toBe(true);
      expect(verify(hash, Buffer.from('another'), publicKey, ecdsaDerSignature(signature))).toBe(false);
    }
  });

  it('is verified as node:crypto verifies it, whatever its numbers are', () => {
    const input = Buffer.from('input');
    const number = fc.oneof(
      fc.uint8Array({ minLength: size, maxLength: size }),
      fc.nat(255).map((byte) => Uint8Array.from({ length: size }, (_, at) => (at === size - 1 ? byte : 0))),
      fc.constant(new Uint8Array(size).fill(0xff)),
    );
    fc.assert(
      fc.property(number, number, (r, s) => {
        const signature = Buffer.concat([r, s]);
        const expected = verify(hash, input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature);
        return verify(hash, input, publicKey, ecdsaDerSignature(signature)) === expected;
      }),
    );
  });
});

it('of small and large numbers has the shortest form that is positive', () => {
  const half = (...end: readonly number[]) => [...new Array<number>(32 - end.length).fill(0), ...end];
  const encoded = (r: readonly number[], s: readonly number[]) => ecdsaDerSignature(Buffer.from([...r, ...s]));
  expect([...encoded(half(1), half())]).toEqual([0x30, 6, 2, 1, 1, 2, 1, 0]);
  expect([...encoded(half(0x80), half(0x7f, 0))]).toEqual([0x30, 8, 2, 2, 0, 0x80, 2, 2, 0x7f, 0]);
});
