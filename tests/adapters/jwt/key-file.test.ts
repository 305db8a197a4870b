import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint } from 'jose';
import { createKeyFactory } from '../../../adapters/jwt/key-factory.ts';
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
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

  it.each([
    ['nothing', '', noKey],
    ['another text', 'no key at all', noKey],
    ['JSON that is no key', '{"a":1}', noKey],
    ['a JSON array', '[]', noKey],
    ['PKCS#1', pem(KEY, 'pkcs1'), noKey],
    ['a broken PEM', pem(KEY).replace(/\n.{40}/, '\n'), noKey],
    [
      'an encrypted key',
      String(KEY.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })),
      noKey,
    ],
    ['a public key', String(publicKey.export({ type: 'spki', format: 'pem' })), noKey],
    ['a public JWK', JSON.stringify(publicKey.export({ format: 'jwk' })), noKey],
    ['an elliptic curve', pem(curve), 'must be an RSA key'],
    ['an elliptic curve as a JWK', jwk(curve), 'must be an RSA key'],
    ['1024 bits', pem(small), 'must be an RSA key of at least 2048 bits'],
    ['an empty kid', jwk(KEY, { kid: '' }), 'must have a kid that is a string'],
    ['a kid that is not a string', jwk(KEY, { kid: 1 }), 'must have a kid that is a string'],
  ])('refuses %s, without quoting it', (_name, text, problem) => {
    expect(readKeyFile(text)).toEqual({ ok: false, problem: [problem] });
  });
});
