import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { algorithmsOf, readPublicJwk } from '../../domain/public-jwk.ts';

const jwkOf = (pair: { publicKey: { export(options: { format: 'jwk' }): object } }) =>
  pair.publicKey.export({ format: 'jwk' });
const rsa = (modulusLength: number) => jwkOf(generateKeyPairSync('rsa', { modulusLength }));
const ec = (namedCurve: string) => jwkOf(generateKeyPairSync('ec', { namedCurve }));

const RSA = rsa(2048) as { readonly n: string };
const P256 = ec('P-256');
const ED25519 = jwkOf(generateKeyPairSync('ed25519'));

describe('readPublicJwk', () => {
  it.each([
    ['RSA', RSA, ['RS256', 'PS256']],
    ['P-256', P256, ['ES256']],
    ['P-384', ec('P-384'), ['ES384']],
    ['Ed25519', ED25519, ['EdDSA']],
  ])('reads a key of %s, for its algorithms', (_name, jwk, algorithms) => {
    const read = readPublicJwk({ ...jwk, use: 'sig', key_ops: ['verify'], x5t: 'ignored' });
    expect(read).toEqual({ ok: true, value: jwk });
    expect(read.ok && algorithmsOf(read.value)).toEqual(algorithms);
  });

  it('keeps kid and alg, which is then the only algorithm', () => {
    const read = readPublicJwk({ ...RSA, kid: 'one', alg: 'PS256' });
    expect(read).toEqual({ ok: true, value: { ...RSA, kid: 'one', alg: 'PS256' } });
    expect(read.ok && algorithmsOf(read.value)).toEqual(['PS256']);
  });

  it('knows EdDSA by the name of RFC 9864 too', () => {
    expect(readPublicJwk({ ...ED25519, alg: 'Ed25519' })).toEqual({ ok: true, value: { ...ED25519, alg: 'EdDSA' } });
  });

  it.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])(
    'refuses a key with the member %s, which is not public',
    (name) => {
      expect(readPublicJwk({ ...RSA, [name]: 'AAAA' })).toEqual({
        ok: false,
        problem: 'contains a private or a symmetric key: register only the public key',
      });
    },
  );

  it('accepts a kid of 255 characters', () => {
    expect(readPublicJwk({ ...P256, kid: 'x'.repeat(255) }).ok).toBe(true);
  });

  it.each([
    ['no object', 'key', 'must be an object'],
    ['a private key', { ...P256, d: 'AAAA' }, /private or a symmetric key/],
    ['a symmetric key', { kty: 'oct', k: 'AAAA' }, /private or a symmetric key/],
    ['another type', { kty: 'oct' }, /must be an RSA, P-256, P-384 or Ed25519 key/],
    ['another curve', { ...P256, crv: 'secp256k1' }, /must be an RSA/],
    ['X25519, which signs nothing', { ...ED25519, crv: 'X25519' }, /must be an RSA/],
    ['the curve of another type', { ...P256, crv: 'Ed25519' }, /must be an RSA/],
    ['a modulus of zeros', { ...RSA, n: Buffer.alloc(257).toString('base64url') }, /2048 to 4096 bits/],
    ['RSA of 1024 bits', rsa(1024), /2048 to 4096 bits/],
    ['RSA of 2047 bits', { ...RSA, n: Buffer.alloc(256, 0x7f).toString('base64url') }, /2048 to 4096 bits/],
    [
      'RSA of 4097 bits',
      { ...RSA, n: Buffer.from([1, ...Buffer.alloc(512, 1)]).toString('base64url') },
      /2048 to 4096/,
    ],
    ['an exponent of 1', { ...RSA, e: 'AQ' }, /e must be AQAB/],
    ['an even exponent', { ...RSA, e: 'AQAC' }, /e must be AQAB/],
    ['an exponent of 3', { ...RSA, e: 'Aw' }, /e must be AQAB/],
    ['65537 with a zero in front', { ...RSA, e: 'AAEAAQ' }, /e must be AQAB/],
    ['no exponent', { ...RSA, e: undefined }, /e must be AQAB/],
    ['a modulus that is no base64url', { ...RSA, n: `${RSA.n.slice(0, -1)}=` }, /must be base64url/],
    ['a modulus with padding in front', { ...RSA, n: `=${RSA.n}` }, /must be base64url/],
    ['a modulus of an impossible length', { ...RSA, n: `${RSA.n}AAA` }, /must be base64url/],
    [
      'RSA of 2047 bits behind zeros',
      { ...RSA, n: Buffer.concat([Buffer.alloc(3), Buffer.alloc(256, 0x7f)]).toString('base64url') },
      /2048 to 4096 bits/,
    ],
    ['a curve of another type', { ...P256, kty: 'OKP' }, /must be an RSA/],
    ['a coordinate that is no base64url', { ...P256, x: '*' }, /base64url of 32 bytes/],
    ['a coordinate of the wrong length', { ...P256, x: 'AAAA' }, /base64url of 32 bytes/],
    ['a coordinate that is missing', { ...ED25519, x: undefined }, /base64url of 32 bytes/],
    ['a kid that is no text', { ...P256, kid: 5 }, /kid must be/],
    ['an empty kid', { ...P256, kid: '' }, /kid must be/],
    ['a kid of 256 characters', { ...P256, kid: 'x'.repeat(256) }, /kid must be/],
    ['a key for encryption', { ...P256, use: 'enc' }, /use must be sig/],
    ['a key for other operations', { ...P256, key_ops: ['deriveKey'] }, /key_ops must include verify/],
    ['an algorithm of another key', { ...P256, alg: 'ES384' }, /alg must be ES256/],
    ['a symmetric algorithm', { ...RSA, alg: 'HS256' }, /alg must be RS256 or PS256/],
  ])('refuses %s, and quotes nothing of it', (_name, jwk, rule) => {
    const read = readPublicJwk(jwk);
    expect(read).toEqual({ ok: false, problem: expect.stringMatching(rule) });
  });

  it('accepts RSA of 4096 bits', () => {
    expect(readPublicJwk(rsa(4096)).ok).toBe(true);
  }, 60_000);
});
