import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint } from 'jose';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { readKeyFile } from '../../../adapters/jwt/read-key-file.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyFactory } from '../../../application/ports/key-provider.ts';
import type { TokenAlgorithm } from '../../../domain/token-key.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';
import { threadsAtOnce } from '../../support/at-once.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const { privateKey: KEY } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8') => String(key.export({ type, format: 'pem' }));
const jwk = (key: KeyObject, more: object = {}) => JSON.stringify({ ...key.export({ format: 'jwk' }), ...more });

const KEYS = {
  PS256: KEY,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  EdDSA: generateKeyPairSync('ed25519').privateKey,
};

function factoryOf(text: string, algorithm: TokenAlgorithm = 'RS256'): KeyFactory {
  const file = readKeyFile(text, algorithm);
  if (!file.ok) throw new Error(file.problem.join());
  return createKeyFactory({ ids: new RandomIdGenerator(), threads: threadsAtOnce, file: file.value });
}

describeKeyFactory('createKeyFactory with a PEM file', async () => factoryOf(pem(KEY)));
describeKeyFactory('createKeyFactory with a JWK file', async () => factoryOf(jwk(KEY)));
describeKeyProvider('KeyRing on a key file', () => freshKeyRing({ factory: factoryOf(pem(KEY)) }));

for (const [algorithm, key] of Object.entries(KEYS)) {
  const alg = algorithm as TokenAlgorithm;
  describeKeyFactory(`createKeyFactory with a PEM file`, async () => factoryOf(pem(key), alg), alg);
  describeKeyFactory(`createKeyFactory with a JWK file`, async () => factoryOf(jwk(key), alg), alg);
  describeKeyProvider(`KeyRing on a key file for ${alg}`, () =>
    freshKeyRing({ factory: factoryOf(jwk(key), alg), algorithm: alg }),
  );
}

describe('createKeyFactory with a key file', () => {
  it('names the key by another id for PS256, since the same file may have signed with RS256', async () => {
    const { kid } = await factoryOf(pem(KEY)).make('RS256');
    expect((await factoryOf(pem(KEY), 'PS256').make('PS256')).kid).toBe(`${kid}-PS256`);
  });

  it('returns the same key and id each time, from PEM and from a JWK', async () => {
    const pairs = await Promise.all(
      [factoryOf(pem(KEY)), factoryOf(pem(KEY)), factoryOf(jwk(KEY))].map((factory) => factory.make('RS256')),
    );
    expect(new Set(pairs.map((pair) => pair.jwk.n)).size).toBe(1);
    expect(new Set(pairs.map((pair) => pair.kid)).size).toBe(1);
  });

  it('names the key by its thumbprint (RFC 7638) if the file has no kid', async () => {
    const { kid } = await factoryOf(pem(KEY)).make('RS256');
    expect(kid).toBe(await calculateJwkThumbprint(KEY.export({ format: 'jwk' })));
  });

  it('uses the kid of a JWK', async () => {
    expect((await factoryOf(jwk(KEY, { kid: 'my-key' })).make('RS256')).kid).toBe('my-key');
  });
});

describe('readKeyFile', () => {
  const noKey = 'must be a private key as PKCS#8 PEM without a passphrase, or as a JWK';
  const convert = 'convert it with openssl pkey -in <this file> -out <new file>';
  const weak = 'must be an RSA key of 2048 to 4096 bits with an odd public exponent of at least 3';
  const noPair = 'must have d, p and q that belong to n and e';
  const badKid = 'must have a kid of 1 to 255 printable characters';
  const OTHER = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

  it.each([
    ['nothing', '', noKey],
    ['another text', 'no key at all', noKey],
    ['JSON that is no key', '{"a":1}', noKey],
    ['a JSON array', '[]', noKey],
    ['PKCS#1', pem(KEY, 'pkcs1'), `${noKey}; this is PKCS#1: ${convert}`],
    ['a broken PEM', pem(KEY).replace(/\n.{40}/, '\n'), noKey],
    [
      'an encrypted key',
      String(KEY.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })),
      `${noKey}; this one has a passphrase: ${convert}`,
    ],
    ['a public key', String(publicKey.export({ type: 'spki', format: 'pem' })), `${noKey}; this is the public key`],
    ['a public JWK', JSON.stringify(publicKey.export({ format: 'jwk' })), noKey],
    ['an elliptic curve', pem(curve), 'must be an RSA key, since TOKEN_SIGNING_ALG is RS256'],
    ['an elliptic curve as a JWK', jwk(curve), 'must be an RSA key, since TOKEN_SIGNING_ALG is RS256'],
    ['1024 bits', pem(small), weak],
    ['the exponent 1', jwk(KEY, { e: 'AQ', d: 'AQ' }), weak],
    ['an empty kid', jwk(KEY, { kid: '' }), badKid],
    ['a kid that is not a string', jwk(KEY, { kid: 1 }), badKid],
    ['a kid of 256 characters', jwk(KEY, { kid: 'k'.repeat(256) }), badKid],
    ['a kid of 100,000 characters', jwk(KEY, { kid: 'k'.repeat(100_000) }), badKid],
    ['a kid with a line break', jwk(KEY, { kid: 'a\nb' }), badKid],
    ['a kid with a character that turns the direction of text', jwk(KEY, { kid: 'a\u202eb' }), badKid],
    ['a kid twice', jwk(KEY).replace('{', '{"kid":"a","kid":"b",'), noKey],
    ['a key for encryption', jwk(KEY, { use: 'enc' }), 'must have the use sig, or none'],
    ['a key for another algorithm', jwk(KEY, { alg: 'PS256' }), 'must have the alg RS256, or none'],
    ['a key that must not sign', jwk(KEY, { key_ops: ['verify'] }), 'must have key_ops with sign, or none'],
    ['operations that are not an array', jwk(KEY, { key_ops: 'sign' }), 'must have key_ops with sign, or none'],
    ['the private exponent of another key', jwk(KEY, { d: OTHER.d }), noPair],
    ['the modulus of another key', jwk(KEY, { n: OTHER.n }), noPair],
    ['the public exponent of another key', jwk(KEY, { e: 'Aw' }), noPair],
    ['the primes of another key', jwk(KEY, { p: OTHER.p, q: OTHER.q }), noPair],
    ['a prime of 1', jwk(KEY, { p: 'AQ' }), noPair],
  ])('refuses %s, without quoting it', (_name, text, problem) => {
    expect(readKeyFile(text, 'RS256')).toEqual({ ok: false, problem: [problem] });
  });

  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  const x25519 = generateKeyPairSync('x25519').privateKey;
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey;
  const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const otherPoint = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const notP256 = 'must be a P-256 key, since TOKEN_SIGNING_ALG is ES256';
  const notEd25519 = 'must be an Ed25519 key, since TOKEN_SIGNING_ALG is EdDSA';
  const noPoint = 'must have a d that belongs to the point';

  it.each([
    ['an RSA key', 'ES256', pem(KEY), notP256],
    ['another curve', 'ES256', pem(p384), notP256],
    ['an Ed25519 key', 'ES256', jwk(KEYS.EdDSA), notP256],
    ['SEC 1', 'ES256', pem(KEYS.ES256, 'sec1'), `${noKey}; this is SEC 1: ${convert}`],
    ['the point of another key', 'ES256', jwk(KEYS.ES256, { x: otherCurve.x, y: otherCurve.y }), noPoint],
    ['a key for another algorithm', 'ES256', jwk(KEYS.ES256, { alg: 'ES384' }), 'must have the alg ES256, or none'],
    ['an RSA key', 'EdDSA', jwk(KEY), notEd25519],
    ['a P-256 key', 'EdDSA', pem(KEYS.ES256), notEd25519],
    ['a key for key agreement', 'EdDSA', pem(x25519), notEd25519],
    ['the point of another key', 'EdDSA', jwk(KEYS.EdDSA, { x: otherPoint.x }), noPoint],
    ['a P-256 key', 'PS256', pem(KEYS.ES256), 'must be an RSA key, since TOKEN_SIGNING_ALG is PS256'],
    ['a key that its type restricts to PSS', 'PS256', pem(pss), 'must be an RSA key, since TOKEN_SIGNING_ALG is PS256'],
    [
      'a kid that may be of RS256',
      'PS256',
      jwk(KEY, { kid: 'k' }),
      'must have the alg PS256 beside its kid, and another kid than for RS256',
    ],
    ['a key for RS256', 'PS256', jwk(KEY, { alg: 'RS256' }), 'must have the alg PS256, or none'],
    ['1024 bits', 'PS256', pem(small), weak],
  ] as const)('refuses %s for %s, without quoting it', (_name, algorithm, text, problem) => {
    expect(readKeyFile(text, algorithm)).toEqual({ ok: false, problem: [problem] });
  });

  it('reports every problem of a JWK', () => {
    expect(
      readKeyFile(jwk(KEY, { kid: '', use: 'enc', alg: 'RSA-OAEP', key_ops: ['decrypt'] }), 'RS256'),
    ).toMatchObject({
      problem: [badKid, expect.stringMatching(/use/), expect.stringMatching(/alg/), expect.stringMatching(/key_ops/)],
    });
  });

  it.each([
    ['of 255 characters', { kid: 'k'.repeat(255) }],
    ['with spaces and letters of any language', { kid: 'ключ 1' }],
    ['for signatures with RS256', { kid: 'k', use: 'sig', alg: 'RS256', key_ops: ['sign', 'verify'] }],
  ])('accepts a JWK with a kid %s', (_name, fields) => {
    expect(readKeyFile(jwk(KEY, fields), 'RS256')).toMatchObject({ ok: true, value: { kid: fields.kid } });
  });
});
