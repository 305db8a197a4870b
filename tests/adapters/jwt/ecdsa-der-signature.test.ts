import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ecdsaDerSignature, es256Signature, isLowS } from '../../../adapters/jwt/ecdsa-der-signature.ts';

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

describe('a signature by ES256, from DER', () => {
  const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const input = Buffer.from('input');

  it('is right, of 64 bytes, and the one of two whose second number is the smaller', () => {
    const seen = { low: 0, high: 0 };
    // A number is a byte shorter in one of 256.
    for (let number = 0; number < 3_000; number += 1) {
      const der = sign('sha256', input, privateKey);
      const signature = es256Signature(der);
      expect(signature).toHaveLength(64);
      expect(isLowS(signature)).toBe(true);
      expect(verify('sha256', input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
      seen[ecdsaDerSignature(signature).equals(der) ? 'low' : 'high'] += 1;
    }
    expect(seen.low).toBeGreaterThan(0);
    expect(seen.high).toBeGreaterThan(0);
  });

  it('has the same numbers, if the second is low, with zeros in front of short ones', () => {
    const number = fc.uint8Array({ minLength: 32, maxLength: 32 });
    const short = fc
      .tuple(fc.nat(31), number)
      .map(([zeros, digits]) => Buffer.concat([Buffer.alloc(zeros), digits]).subarray(0, 32));
    const low = fc.oneof(number, short).filter((digits) => (digits[0] ?? 0) < 0x7f);
    fc.assert(
      fc.property(fc.oneof(number, short), low, (r, s) => {
        const signature = Buffer.concat([r, s]);
        expect(es256Signature(ecdsaDerSignature(signature))).toEqual(signature);
      }),
    );
  });

  it.each([
    ['half of the order', ORDER >> 1n, true],
    ['one more', (ORDER >> 1n) + 1n, false],
    ['one', 1n, true],
    ['the order less one', ORDER - 1n, false],
  ])('with %s as the second number: low is %s', (_what, s, low) => {
    const signature = Buffer.from(`${'01'.repeat(32)}${s.toString(16).padStart(64, '0')}`, 'hex');
    expect(isLowS(signature)).toBe(low);
    const made = es256Signature(ecdsaDerSignature(signature)).toString('hex', 32);
    expect(BigInt(`0x${made}`)).toBe(low ? s : ORDER - s);
  });
});
