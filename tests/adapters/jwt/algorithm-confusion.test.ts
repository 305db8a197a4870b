import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign as signDer } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { joseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoTokenSigner } from '../../../adapters/jwt/node-crypto-token-signer.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyPair, SigningKey } from '../../../application/ports/key-provider.ts';
import type { TokenVerifier } from '../../../application/ports/token-verifier.ts';
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../../../domain/token-key.ts';
import { encode } from '../../hostile/token-forge.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { CLAIMS } from '../../support/claims.ts';
import { knownKeyFactory } from '../../support/known-key.ts';
import { isSignedBy } from '../../support/token-algorithms.ts';

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
  verifier = joseTokenVerifier({
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
  const signer = new NodeCryptoTokenSigner({ ...keys, verificationKey: async () => undefined });
  expect(await verifier.verify(await signer.sign(CLAIMS))).toEqual({ ok: true, value: CLAIMS });
});

describe.each(pairs)('a token that names the key for %s and the algorithm %s', (of, named) => {
  it('is refused for its algorithm, whichever of the two keys, or whose other key, signed it', async () => {
    const { kid } = trusted[of];
    for (const { sign } of [trusted[of], trusted[named], attackers[of], attackers[named]]) {
      expect(await verifier.verify(await token({ kid, alg: named }, sign))).toEqual(refusal('token_algorithm_refused'));
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
    const { sign } = await createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, file }).make(other);
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
    expect(await verifier.verify(await token({ kid, alg: 'HS256' }, hmac))).toEqual(refusal('token_algorithm_refused'));
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

it('refuses the second signature of ES256 over the same bytes, which everyone can make of the first', async () => {
  const { kid, sign } = trusted.ES256;
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const other = (right: Buffer) => order - BigInt(`0x${right.toString('hex', 32)}`);
  const right = await token({ kid, alg: 'ES256' }, sign);
  const [head, payload, signature = ''] = right.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const numbers = bytes.toString('hex', 0, 32) + other(bytes).toString(16).padStart(64, '0');
  const mirrored = Buffer.from(numbers, 'hex').toString('base64url');
  const respelled = `${head}.${payload}.${mirrored}`;
  expect(await verifier.verify(right)).toMatchObject({ ok: true });
  expect(await verifier.verify(respelled)).toEqual(refusal('token_malformed'));
  // It is a right signature for everyone else.
  expect(await isSignedBy('ES256', trusted.ES256.publicKey, mirrored, `${head}.${payload}`)).toBe(true);
});
