import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign as signDer } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createKeyFactory, keyPairOf } from '../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import type { KeyPair, SigningKey } from '../../application/ports/key-provider.ts';
import { TokenSigner } from '../../application/token-signer.ts';
import { TOKEN_LENGTH_MAX } from '../../domain/access-token-claims.ts';
import { failure } from '../../domain/result.ts';
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../../domain/token-key.ts';
import { describeTokenSigner } from '../contracts/token-signer.ts';
import { describeTokenVerifier } from '../contracts/token-verifier.ts';
import { FORGED_TOKENS, NO_BEARER_TOKENS } from '../hostile/forged-tokens.ts';
import { encode, TokenForge } from '../hostile/token-forge.ts';
import { threadsAtOnce } from '../support/at-once.ts';
import { CLAIMS } from '../support/claims.ts';
import { freshKeyRing } from '../support/fresh-key-ring.ts';
import { knownKeyFactory } from '../support/known-key.ts';
import { OTHER_ALGORITHMS } from '../support/token-algorithms.ts';
import { type TokenVerifier, tokenVerifier } from '../support/token-verifier.ts';

describeTokenSigner('TokenSigner', async () => {
  const keys = await freshKeyRing();
  return { signer: new TokenSigner(keys), keys };
});

for (const algorithm of OTHER_ALGORITHMS) {
  describeTokenSigner(
    'TokenSigner',
    async () => {
      const keys = await freshKeyRing({
        factory: createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }),
        algorithm,
      });
      return { signer: new TokenSigner(keys), keys };
    },
    algorithm,
  );
}

for (const algorithm of OTHER_ALGORITHMS) {
  describeTokenVerifier(`tokenVerifier with ${algorithm}`, async () => {
    const keys = await freshKeyRing({
      factory: createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce }),
      algorithm,
    });
    return { signer: new TokenSigner(keys), verifier: tokenVerifier(keys) };
  });
}

describeTokenVerifier('tokenVerifier', async () => {
  const keys = await freshKeyRing();
  return { signer: new TokenSigner(keys), verifier: tokenVerifier(keys) };
});

it('TokenSigner names the type of its tokens in their headers, if they are to have one (RFC 9068 section 2.1)', async () => {
  const keys = await freshKeyRing();
  const token = await new TokenSigner(keys, 'at+jwt').sign(CLAIMS);
  const [header = ''] = token.split('.');
  const { kid } = await keys.signingKey();
  expect(await tokenVerifier(keys).verify(token)).toMatchObject({ ok: true });
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ kid, typ: 'at+jwt', alg: 'RS256' });
});

it('a token without an algorithm that tokens may have is refused before its key is looked up', async () => {
  const keys = {
    verificationKey: async () => {
      throw new Error('looked up');
    },
  };
  const token = [{ kid: 'unknown', alg: 'none' }, CLAIMS, ''].map((part) => (part === '' ? 'AA' : encode(part)));
  expect(await tokenVerifier(keys).verify(token.join('.'))).toEqual(failure('token_algorithm_refused'));
});

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
      const { sign } = keyPairOf(kid, other, privateKey, threadsAtOnce);
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

  it('accepts a token of the type JWT, as older issuers write it', async () => {
    expect(await verifier.verify(make.token(make.header({ typ: 'JWT' })))).toMatchObject({ ok: true });
  });

  it('accepts a token of 7 KiB, and none that is longer', async () => {
    const sign = (padding: number) =>
      make.token(make.header({ cty: 'x' }), make.claims({ padding: 'x'.repeat(padding) }));
    const padding = 5_000 + Math.floor(((TOKEN_LENGTH_MAX - sign(5_000).length) * 3) / 4);
    expect(sign(padding)).toHaveLength(TOKEN_LENGTH_MAX);
    expect(await verifier.verify(sign(padding))).toMatchObject({ ok: true });
    expect(await verifier.verify(sign(padding + 1))).toEqual(MALFORMED);
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
