import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint } from 'jose';
import { createKeyFactory } from '../../../adapters/jwt/create-key-factory.ts';
import { readKeyFile } from '../../../adapters/jwt/read-key-file.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import type { KeyFactory } from '../../../application/ports/key-factory.ts';
import { describeKeyFactory } from '../../contracts/key-factory.ts';
import { describeKeyProvider } from '../../contracts/key-provider.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const { privateKey: KEY } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1' = 'pkcs8') => String(key.export({ type, format: 'pem' }));
const jwk = (key: KeyObject, more: object = {}) => JSON.stringify({ ...key.export({ format: 'jwk' }), ...more });

function factoryOf(text: string): KeyFactory {
  const file = readKeyFile(text);
  if (!file.ok) throw new Error(file.problem.join());
  return createKeyFactory({ ids: new RandomIdGenerator(), file: file.value });
}

describeKeyFactory('createKeyFactory with a PEM file', async () => factoryOf(pem(KEY)));
describeKeyFactory('createKeyFactory with a JWK file', async () => factoryOf(jwk(KEY)));
describeKeyProvider('KeyRing on a key file', () => freshKeyRing({ factory: factoryOf(pem(KEY)) }));

describe('createKeyFactory with a key file', () => {
  it('returns the same key and id each time, from PEM and from a JWK', async () => {
    const pairs = await Promise.all(
      [factoryOf(pem(KEY)), factoryOf(pem(KEY)), factoryOf(jwk(KEY))].map((factory) => factory.make()),
    );
    expect(new Set(pairs.map((pair) => pair.jwk.n)).size).toBe(1);
    expect(new Set(pairs.map((pair) => pair.kid)).size).toBe(1);
  });

  it('names the key by its thumbprint (RFC 7638) if the file has no kid', async () => {
    const { kid } = await factoryOf(pem(KEY)).make();
    expect(kid).toBe(await calculateJwkThumbprint(KEY.export({ format: 'jwk' })));
  });

  it('uses the kid of a JWK', async () => {
    expect((await factoryOf(jwk(KEY, { kid: 'my-key' })).make()).kid).toBe('my-key');
  });
});

describe('readKeyFile', () => {
  const noKey = 'must be a private key as PKCS#8 PEM without a passphrase, or as a JWK';
  const convert = 'convert it with openssl pkey -in <this file> -out <new file>';
  const weak = 'must be an RSA key of at least 2048 bits with an odd public exponent of at least 3';
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
    ['an elliptic curve', pem(curve), 'must be an RSA key'],
    ['an elliptic curve as a JWK', jwk(curve), 'must be an RSA key'],
    ['1024 bits', pem(small), weak],
    ['the exponent 1', jwk(KEY, { e: 'AQ', d: 'AQ' }), weak],
    ['an empty kid', jwk(KEY, { kid: '' }), badKid],
    ['a kid that is not a string', jwk(KEY, { kid: 1 }), badKid],
    ['a kid of 256 characters', jwk(KEY, { kid: 'k'.repeat(256) }), badKid],
    ['a kid of 100,000 characters', jwk(KEY, { kid: 'k'.repeat(100_000) }), badKid],
    ['a kid with a line break', jwk(KEY, { kid: 'a\nb' }), badKid],
    ['a kid with a character that turns the direction of text', jwk(KEY, { kid: 'a\u202eb' }), badKid],
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
    expect(readKeyFile(text)).toEqual({ ok: false, problem: [problem] });
  });

  it('reports every problem of a JWK', () => {
    expect(readKeyFile(jwk(KEY, { kid: '', use: 'enc', alg: 'RSA-OAEP', key_ops: ['decrypt'] }))).toMatchObject({
      problem: [badKid, expect.stringMatching(/use/), expect.stringMatching(/alg/), expect.stringMatching(/key_ops/)],
    });
  });

  it.each([
    ['of 255 characters', { kid: 'k'.repeat(255) }],
    ['with spaces and letters of any language', { kid: 'ключ 1' }],
    ['for signatures with RS256', { kid: 'k', use: 'sig', alg: 'RS256', key_ops: ['sign', 'verify'] }],
  ])('accepts a JWK with a kid %s', (_name, members) => {
    expect(readKeyFile(jwk(KEY, members))).toMatchObject({ ok: true, value: { kid: members.kid } });
  });
});
