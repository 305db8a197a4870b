import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  sign as signDer,
  verify,
} from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { ecdsaDerSignature, es256Signature } from '../../../adapters/jwt/ecdsa-der-signature.ts';
import {
  IMPORTED_KEYS_MAX,
  KEYS_TRIED_MAX,
  NodeCryptoAssertionVerifier,
} from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyPair, SigningKey } from '../../../application/ports/key-provider.ts';
import { TokenSigner } from '../../../application/token-signer.ts';
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../../../domain/token-key.ts';
import { describeAssertionVerifier } from '../../contracts/assertion-verifier.ts';
import { FORGED_TOKENS, NO_BEARER_TOKENS } from '../../hostile/forged-tokens.ts';
import { encode, TokenForge } from '../../hostile/token-forge.ts';
import { compactJws, generateSigningKey, parsed } from '../../support/assertions.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { CLAIMS } from '../../support/claims.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';
import { knownKeyFactory } from '../../support/known-key.ts';
import { type TokenVerifier, tokenVerifier } from '../../support/token-verifier.ts';

describe('confused algorithms', () => {
  /** The keys of a service in the middle of changes between all algorithms, each with its private half. */
  const trusted = {} as Record<TokenAlgorithm, KeyPair & { readonly privateKey: KeyObject }>;
  /** A key of each type that the service does not trust. */
  const attackers = {} as Record<TokenAlgorithm, SigningKey>;
  let verifier: TokenVerifier;

  beforeAll(async () => {
    for (const algorithm of TOKEN_ALGORITHMS) {
      const { factory, privateKey } = knownKeyFactory(algorithm);
      trusted[algorithm] = { ...(await factory.make(algorithm)), privateKey };
      attackers[algorithm] = await knownKeyFactory(algorithm).factory.make(algorithm);
    }
    const all = Object.values(trusted);
    verifier = tokenVerifier({
      verificationKey: async (kid) => all.find((key) => key.kid === kid)?.publicKey,
    });
  });

  const token = async (header: object, sign: (input: string) => string | Promise<string>) => {
    const input = `${encode(header)}.${encode(CLAIMS)}`;
    return `${input}.${await sign(input)}`;
  };
  const refusal = (problem: string) => ({ ok: false, problem });
  const pairs = TOKEN_ALGORITHMS.flatMap((one) =>
    TOKEN_ALGORITHMS.filter((other) => other !== one).map((other) => [one, other] as const),
  );

  it.each(TOKEN_ALGORITHMS)('accepts a token by the key for %s that names it', async (alg) => {
    const keys = { signingKey: async () => trusted[alg], publicKeys: async () => [], maxAgeSeconds: () => 0 };
    const signer = new TokenSigner({ ...keys, verificationKey: async () => undefined });
    expect(await verifier.verify(await signer.sign(CLAIMS))).toEqual({ ok: true, value: CLAIMS });
  });

  describe.each(pairs)('a token that names the key for %s and the algorithm %s', (of, named) => {
    it('is refused for its algorithm, whichever of the two keys, or whose other key, signed it', async () => {
      const { kid } = trusted[of];
      for (const { sign } of [trusted[of], trusted[named], attackers[of], attackers[named]]) {
        expect(await verifier.verify(await token({ kid, alg: named }, sign))).toEqual(
          refusal('token_algorithm_refused'),
        );
      }
    });

    it('is refused for its signature if it claims the right algorithm instead', async () => {
      const { kid } = trusted[of];
      for (const { sign } of [trusted[named], attackers[of], attackers[named]]) {
        expect(await verifier.verify(await token({ kid, alg: of }, sign))).toEqual(refusal('token_signature_wrong'));
      }
    });
  });

  it('refuses RS256 and PS256 by one and the same key, whichever of them it is for', async () => {
    const factories = { RS256: 'PS256', PS256: 'RS256' } as const;
    for (const [of, other] of Object.entries(factories)) {
      const { kid, privateKey } = trusted[of as 'RS256'];
      const file = { key: privateKey, kid };
      const { sign } = await createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, file }).make(
        other,
      );
      expect(await verifier.verify(await token({ kid, alg: other }, sign))).toEqual(refusal('token_algorithm_refused'));
      expect(await verifier.verify(await token({ kid, alg: of }, sign))).toEqual(refusal('token_signature_wrong'));
    }
  });

  /** What a verifier that takes the algorithm from the token could use as the secret of an HMAC. */
  const SECRETS: Readonly<Record<string, (key: KeyObject) => string | Buffer>> = {
    'SPKI in PEM': (key) => key.export({ type: 'spki', format: 'pem' }).toString(),
    'SPKI in DER': (key) => key.export({ type: 'spki', format: 'der' }),
    'a JWK': (key) => JSON.stringify(key.export({ format: 'jwk' })),
    'its first number as bytes': (key) => {
      const { n, x } = key.export({ format: 'jwk' });
      return Buffer.from(String(n ?? x), 'base64url');
    },
    'its first number as text': (key) => String(key.export({ format: 'jwk' }).n ?? key.export({ format: 'jwk' }).x),
  };

  describe.each(TOKEN_ALGORITHMS)('the public key for %s as the secret of an HMAC', (alg) => {
    it.each(Object.entries(SECRETS))('signs nothing, as %s', async (_form, secretOf) => {
      const { kid, privateKey } = trusted[alg];
      const secret = secretOf(createPublicKey(privateKey));
      const hmac = (input: string) => createHmac('sha256', secret).update(input).digest('base64url');
      expect(await verifier.verify(await token({ kid, alg: 'HS256' }, hmac))).toEqual(
        refusal('token_algorithm_refused'),
      );
      expect(await verifier.verify(await token({ kid, alg }, hmac))).toEqual(refusal('token_signature_wrong'));
    });

    it.each([
      'none',
      'HS256',
      'RS512',
      'PS384',
      'ES384',
      'ES512',
      'ES256K',
      'Ed25519',
      'Ed448',
      'eddsa',
      'es256',
      '',
      null,
    ])('names no algorithm %j', async (odd) => {
      const { kid, sign } = trusted[alg];
      expect(await verifier.verify(await token({ kid, alg: odd }, sign))).toEqual(refusal('token_algorithm_refused'));
    });
  });

  describe.each(['ES256', 'EdDSA'] as const)('a signature by %s', (alg) => {
    const ORDER_OF_ED25519 = 2n ** 252n + 27742317777372353535851937790883648493n;
    const littleEndian = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
    it.each<[string, (right: Buffer) => Buffer]>([
      ['of zeros', () => Buffer.alloc(64)],
      ['of ones', () => Buffer.alloc(64, 0xff)],
      ['without its last byte', (right) => right.subarray(0, 63)],
      ['with a zero behind it', (right) => Buffer.concat([right, Buffer.alloc(1)])],
      ['whose halves are exchanged', (right) => Buffer.concat([right.subarray(32), right.subarray(0, 32)])],
      ['with a second half of zeros', (right) => Buffer.concat([right.subarray(0, 32), Buffer.alloc(32)])],
      [
        'whose second half is larger by the order of Ed25519',
        (right) => {
          const scalar = littleEndian(right.subarray(32)) + ORDER_OF_ED25519;
          const bytes = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();
          return Buffer.concat([right.subarray(0, 32), bytes]);
        },
      ],
    ])('is refused %s', async (_what, change) => {
      const { kid, sign } = trusted[alg];
      const changed = await token({ kid, alg }, async (input) =>
        change(Buffer.from(await sign(input), 'base64url')).toString('base64url'),
      );
      expect(await verifier.verify(changed)).toEqual(refusal('token_signature_wrong'));
    });

    it('is refused in DER, as OpenSSL writes that of ES256', async () => {
      const { kid, privateKey } = trusted.ES256;
      const der = await token({ kid, alg: 'ES256' }, (input) =>
        signDer('sha256', Buffer.from(input), privateKey).toString('base64url'),
      );
      expect(await verifier.verify(der)).toEqual(refusal('token_signature_wrong'));
    });

    it('is refused by a key of another curve with the same id', async () => {
      const { kid } = trusted[alg];
      const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
      const forged = await token({ kid, alg }, (input) =>
        signDer('sha384', Buffer.from(input), { key: other, dsaEncoding: 'ieee-p1363' }).toString('base64url'),
      );
      expect(await verifier.verify(forged)).toEqual(refusal('token_signature_wrong'));
    });
  });
});

describe('forged tokens', () => {
  const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
  const MALFORMED = { ok: false, problem: 'token_malformed' };

  let verifier: TokenVerifier;
  let make: TokenForge;

  beforeAll(async () => {
    const { factory, kid, privateKey } = knownKeyFactory();
    verifier = tokenVerifier(await freshKeyRing({ factory }));
    make = new TokenForge(privateKey, kid, CLAIMS.iss);
  });

  it('accepts the token that every forgery starts from', async () => {
    const claims = make.claims();
    expect(await verifier.verify(make.token(undefined, claims))).toEqual({ ok: true, value: claims });
  });

  it.each(FORGED_TOKENS)('refuses $name', async ({ forge, reason }) => {
    expect(await verifier.verify(forge(make))).toEqual({ ok: false, problem: reason });
  });

  it.each(NO_BEARER_TOKENS)('refuses $name, which is no bearer token', async ({ forge }) => {
    expect(await verifier.verify(forge(make))).toEqual(MALFORMED);
  });

  describe('another spelling of a valid token', () => {
    it.each([1, 2])('refuses changed spare bits in each part, %d bytes past a group of three', async (rest) => {
      const head = encode(lengthened('typ', make.header(), rest));
      const payload = encode(lengthened('sub', CLAIMS, rest));
      const signature = make.byService(`${head}.${payload}`).toString('base64url');
      const tokens = [
        ...respelled(head).map((other) => make.sealed(`${other}.${payload}`)),
        ...respelled(payload).map((other) => make.sealed(`${head}.${other}`)),
        ...respelled(signature).map((other) => `${head}.${payload}.${other}`),
      ];
      expect(tokens.length).toBeGreaterThanOrEqual(9);
      for (const token of tokens) expect(await verifier.verify(token)).toEqual(MALFORMED);
    });

    it.each(['=', '==', ' ', '\t', '\n', '\r\n', '\0', '\u00a0', '\ufeff', '+', '/', '~', '%3D', '%20', 'é', '\u200b'])(
      'refuses %j before, after and inside each part, even if the right key signed that spelling',
      async (odd) => {
        const [head = '', payload = '', signature = ''] = make.token().split('.');
        const spellings = (part: string) => [
          `${odd}${part}`,
          `${part}${odd}`,
          `${part.slice(0, 8)}${odd}${part.slice(8)}`,
        ];
        const tokens = [
          ...spellings(head).map((other) => make.sealed(`${other}.${payload}`)),
          ...spellings(payload).map((other) => make.sealed(`${head}.${other}`)),
          ...spellings(signature).map((other) => `${head}.${payload}.${other}`),
        ];
        for (const token of tokens) expect(await verifier.verify(token)).toEqual(MALFORMED);
      },
    );

    it('refuses base64 of the other alphabet', async () => {
      const [head, payload, signature = ''] = make.token().split('.');
      const other = Buffer.from(signature, 'base64url').toString('base64');
      expect(await verifier.verify(`${head}.${payload}.${other}`)).toEqual(MALFORMED);
    });

    it('refuses a text of a million characters', async () => {
      expect(await verifier.verify('x'.repeat(1_000_000))).toEqual(MALFORMED);
      expect(await verifier.verify('.'.repeat(1_000_000))).toEqual(MALFORMED);
    });
  });

  describe('a token that was changed', () => {
    it('does not verify after a change of any character', async () => {
      const token = make.token();
      const change = fc.tuple(fc.nat({ max: token.length - 1 }), fc.constantFrom(...ALPHABET, '.', '=', ' '));
      await fc.assert(
        fc.asyncProperty(change, async ([index, character]) => {
          fc.pre(token[index] !== character);
          const changed = `${token.slice(0, index)}${character}${token.slice(index + 1)}`;
          expect((await verifier.verify(changed)).ok).toBe(false);
        }),
        { numRuns: 1000 },
      );
    });

    it('does not verify after a flip of any bit of its parts', async () => {
      const parts = make.token().split('.');
      const bit = fc.nat({ max: 2 }).chain((part) =>
        fc.record({
          part: fc.constant(part),
          bit: fc.nat({ max: Buffer.from(parts[part] ?? '', 'base64url').length * 8 - 1 }),
        }),
      );
      await fc.assert(
        fc.asyncProperty(bit, async (flip) => {
          const bytes = Buffer.from(parts[flip.part] ?? '', 'base64url');
          bytes.writeUInt8(bytes.readUInt8(flip.bit >> 3) ^ (1 << (flip.bit & 7)), flip.bit >> 3);
          const changed = parts.with(flip.part, bytes.toString('base64url')).join('.');
          expect((await verifier.verify(changed)).ok).toBe(false);
        }),
        { numRuns: 1000 },
      );
    });

    it('does not verify if it is cut anywhere', async () => {
      const token = make.token();
      for (let length = 0; length < token.length; length += 1) {
        expect((await verifier.verify(token.slice(0, length))).ok).toBe(false);
        expect((await verifier.verify(token.slice(token.length - length))).ok).toBe(false);
      }
    });
  });

  /** The JSON of an object whose length, modulo three, is `rest`, with a field of the necessary length. */
  function lengthened(field: string, object: object, rest: number): string {
    const texts = ['x', 'xx', 'xxx'].map((value) => JSON.stringify({ ...object, [field]: value }));
    return texts.find((text) => text.length % 3 === rest) ?? '';
  }

  /** The other spellings of the same bytes: those in which the last character's unused bits are not zero. */
  function respelled(part: string): readonly string[] {
    const spellings = { 2: 16, 3: 4 }[part.length % 4] ?? 1;
    const last = ALPHABET.indexOf(part.slice(-1));
    return ALPHABET.slice(last + 1, last + spellings).map((character) => `${part.slice(0, -1)}${character}`);
  }
});

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
        // OpenSSL refuses at once what is not less than the modulus or not as long: a decoy is tried in place of the key.
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
