import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ecdsaDerSignature, es256Signature } from '../../../adapters/jwt/ecdsa-der-signature.ts';
import {
  IMPORTED_KEYS_MAX,
  KEYS_TRIED_MAX,
  NodeCryptoAssertionVerifier,
} from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { describeAssertionVerifier } from '../../contracts/assertion-verifier.ts';
import { compactJws, generateSigningKey, parsed } from '../../support/assertions.ts';

describe('signatures of assertions', () => {
  describeAssertionVerifier('NodeCryptoAssertionVerifier', () => new NodeCryptoAssertionVerifier());

  describe('NodeCryptoAssertionVerifier', () => {
    const assertionBy = ({ algorithm, seal }: ReturnType<typeof generateSigningKey>) =>
      parsed(compactJws({ alg: algorithm }, { sub: 'client', aud: 'issuer', exp: 1 }, seal));

    it('keeps the imported keys that verified something, and no others', async () => {
      const verifier = new NodeCryptoAssertionVerifier();
      const [right, wrong] = [generateSigningKey('ES256'), generateSigningKey('ES256')];
      await verifier.verify(assertionBy(wrong), [right.jwk]);
      await verifier.verify(assertionBy(wrong), []);
      expect(verifier.importedKeys).toBe(0);
      for (let time = 0; time < 3; time += 1) await verifier.verify(assertionBy(right), [{ ...right.jwk }]);
      expect(verifier.importedKeys).toBe(1);
    });

    it('knows an imported key by all of its numbers: the point with the opposite y is another key', async () => {
      const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
      const verifier = new NodeCryptoAssertionVerifier();
      const pair = generateSigningKey('ES256');
      expect(await verifier.verify(assertionBy(pair), [pair.jwk])).toBe('verified');
      const y = prime - BigInt(`0x${Buffer.from(String(Object(pair.jwk).y), 'base64url').toString('hex')}`);
      const opposite = { ...pair.jwk, y: Buffer.from(y.toString(16).padStart(64, '0'), 'hex').toString('base64url') };
      expect(await verifier.verify(assertionBy(pair), [opposite])).toBe('signature_wrong');
    });

    it(`keeps at most ${IMPORTED_KEYS_MAX} imported keys, and verifies with every other one too`, async () => {
      const verifier = new NodeCryptoAssertionVerifier();
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

    it('keeps the keys that were used last', async () => {
      const verifier = new NodeCryptoAssertionVerifier();
      const [used, unused] = [generateSigningKey('RS256'), generateSigningKey('RS256')];
      for (const pair of [used, unused]) await verifier.verify(assertionBy(pair), [pair.jwk]);
      for (let count = 0; count < IMPORTED_KEYS_MAX - 1; count += 1) {
        if (count === IMPORTED_KEYS_MAX / 2) await verifier.verify(assertionBy(used), [used.jwk]);
        const pair = generateSigningKey('EdDSA');
        await verifier.verify(assertionBy(pair), [pair.jwk]);
      }
      const imports: string[] = [];
      // For an assertion without a key id, only an import looks whether the key has one.
      const watched = ({ jwk }: typeof used, name: string) => ({
        ...jwk,
        get kid() {
          imports.push(name);
          return name;
        },
      });
      expect(await verifier.verify(assertionBy(used), [watched(used, 'used')])).toBe('verified');
      expect(await verifier.verify(assertionBy(unused), [watched(unused, 'unused')])).toBe('verified');
      expect(imports).toEqual(['unused']);
    });

    it.each([
      ['one less than the modulus', (modulus: bigint) => [modulus - 1n, 256], ['the key']],
      ['the modulus', (modulus: bigint) => [modulus, 256], []],
      ['more than the modulus', (modulus: bigint) => [modulus + 1n, 256], []],
      ['as long as a modulus can be', () => [2n ** 2_047n, 512], []],
      ['a byte longer than the modulus', () => [2n ** 2_047n, 257], []],
    ] as const)(
      'refuses a signature of RSA that is %s after the work of one that the key could have made',
      async (_what, signatureOf, used) => {
        const { jwk } = generateSigningKey('RS256');
        const modulus = jwk.kty === 'RSA' ? BigInt(`0x${Buffer.from(jwk.n, 'base64url').toString('hex')}`) : 0n;
        const [value = 0n, bytes] = signatureOf(modulus);
        const seal = () => Buffer.from(value.toString(16).padStart(2 * Number(bytes), '0'), 'hex');
        const forged = parsed(compactJws({ alg: 'RS256' }, { sub: 'x', aud: 'y', exp: 1 }, seal));
        const imports: string[] = [];
        const watched = {
          ...jwk,
          get kid() {
            imports.push('the key');
            return 'the key';
          },
        };
        expect(await new NodeCryptoAssertionVerifier().verify(forged, [watched])).toBe('signature_wrong');
        // OpenSSL refuses at once what is not less than the modulus or not as long: a decoy is tried in place of the
        // key.
        expect(imports).toEqual(used);
      },
    );

    it('tries keys for two milliseconds in one pass of the event loop, and goes on in the next one', async () => {
      let now = 0;
      // Each key takes a millisecond: the clock is read before and behind it.
      const verifier = new NodeCryptoAssertionVerifier(() => {
        now += 1;
        return now;
      });
      let passes = 0;
      let ended = false;
      const count = () => {
        passes += 1;
        if (!ended) setImmediate(count);
      };
      const forged = parsed(compactJws({ alg: 'ES256' }, { sub: 'x', aud: 'y', exp: 1 }, () => randomBytes(64)));
      setImmediate(count);
      await Promise.all([1, 2, 3].map(() => verifier.verify(forged, [])));
      ended = true;
      // Four keys for each of three assertions, two in a pass.
      expect(passes).toBeGreaterThanOrEqual((3 * KEYS_TRIED_MAX) / 2 - 1);
    });

    it('lets other work in between by its own clock', async () => {
      let passes = 0;
      let ended = false;
      const count = () => {
        passes += 1;
        if (!ended) setImmediate(count);
      };
      setImmediate(count);
      const verifier = new NodeCryptoAssertionVerifier();
      const forged = parsed(compactJws({ alg: 'ES384' }, { sub: 'x', aud: 'y', exp: 1 }, () => randomBytes(96)));
      // 200 verifications take some tens of milliseconds.
      await Promise.all(Array.from({ length: 50 }, () => verifier.verify(forged, [])));
      ended = true;
      expect(passes).toBeGreaterThan(2);
    });

    it.each([
      ['RS256', 'a', 256, 0],
      ['PS256', 'a', 512, 0],
      ['ES256', 'a', 64, 0],
      ['EdDSA', 'a', 64, 0],
      ['ES384', 'a', 96, 3],
      ['ES256', undefined, 64, 2],
      ['ES384', undefined, 96, 5],
      ['Ed25519', undefined, 64, 2],
      ['RS256', 'a', 255, undefined],
      ['RS256', 'a', 513, undefined],
      ['ES256', 'a', 63, undefined],
      ['ES256', 'a', 65, undefined],
      ['ES384', undefined, 95, undefined],
      ['ES384', undefined, 97, undefined],
      ['HS256', 'a', 64, undefined],
    ])(
      'says what an assertion with %s, the key id %s and a signature of %d bytes costs: %s',
      (alg, kid, bytes, cost) => {
        const header = { alg, ...(kid !== undefined && { kid }) };
        const forged = parsed(compactJws(header, { sub: 'x', aud: 'y', exp: 1 }, () => randomBytes(bytes)));
        expect(new NodeCryptoAssertionVerifier().cost(forged)).toBe(cost);
      },
    );
  });
});

describe('DER signatures', () => {
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
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const input = Buffer.from('input');

    it('is right, and has 64 bytes', () => {
      // A number is a byte shorter in one of 256.
      for (let number = 0; number < 2_000; number += 1) {
        const signature = es256Signature(sign('sha256', input, privateKey));
        expect(signature).toHaveLength(64);
        expect(verify('sha256', input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
      }
    });

    it('has the same numbers, with zeros in front of short ones', () => {
      const number = fc.uint8Array({ minLength: 32, maxLength: 32 });
      const short = fc
        .tuple(fc.nat(31), number)
        .map(([zeros, digits]) => Buffer.concat([Buffer.alloc(zeros), digits]).subarray(0, 32));
      fc.assert(
        fc.property(fc.oneof(number, short), fc.oneof(number, short), (r, s) => {
          const signature = Buffer.concat([r, s]);
          expect(es256Signature(ecdsaDerSignature(signature))).toEqual(signature);
        }),
      );
    });
  });
});
