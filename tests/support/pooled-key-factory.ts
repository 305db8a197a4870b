import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RsaSigner } from '../../adapters/jwt/algorithms.ts';
import { createKeyFactory } from '../../adapters/jwt/create-key-factory.ts';
import { RandomIdGenerator } from '../../adapters/system/system.ts';
import type { KeyFactory } from '../../application/ports/key-provider.ts';
import { threadsAtOnce } from './at-once.ts';

/**
 * The path of a JSON array of private keys, PKCS#8 (DER) in base64. Without it, the keys are generated when they are
 * needed.
 */
export const KEY_POOL_VARIABLE = 'TEST_KEY_POOL';

/** More than any test has in use at once. */
const POOL_SIZE = 8;

let pool: Buffer[] | undefined;
/** Of all factories, so that two services of a test have different keys. */
let made = 0;
/** By `newRsaKey`. */
let given = 0;

/** RSA-2048 private keys in PKCS#8 (DER), as a key pool has them. */
export function generateKeyPool(): readonly Buffer[] {
  return Array.from({ length: POOL_SIZE }, generateKey);
}

/**
 * Makes key pairs with new ids from a few RSA keys that it uses again and again, since generating one takes 0.1 s. Only
 * for tests that need real keys, not new ones.
 */
export function pooledKeyFactory(threads: RsaSigner = threadsAtOnce): KeyFactory {
  return {
    make() {
      const file = { key: privateKeyOf(fromPool(made)), kid: randomUUID() };
      made += 1;
      return createKeyFactory({ ids: new RandomIdGenerator(), threads, file }).make('RS256');
    },
  };
}

/** A private key that this file of tests has not been given yet. The first ones are those of the pool. */
export function newRsaKey(): KeyObject {
  given += 1;
  return privateKeyOf(given <= POOL_SIZE ? fromPool(given - 1) : generateKey());
}

function fromPool(number: number): Buffer {
  pool ??= readKeyPool();
  const place = number % POOL_SIZE;
  const der = pool[place] ?? generateKey();
  pool[place] = der;
  return der;
}

function privateKeyOf(der: Buffer): KeyObject {
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

function generateKey(): Buffer {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'der' });
}

function readKeyPool(): Buffer[] {
  const file = process.env[KEY_POOL_VARIABLE];
  if (file === undefined) return [];
  return (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((key) => Buffer.from(key, 'base64'));
}
