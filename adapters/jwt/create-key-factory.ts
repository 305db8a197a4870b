import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, importJWK } from 'jose';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyFactory, KeyPair } from '../../application/ports/key-factory.ts';
import {
  isUsableKey,
  KEY_RULE,
  type KeyHandle,
  MODULUS_BITS_MIN,
  type PublicKeyJwk,
} from '../../application/ports/key-provider.ts';
import type { KeyFile } from './read-key-file.ts';
import { rs256 } from './rs256-token-signer.ts';

interface KeyFactoryParts {
  readonly ids: IdGenerator;
  /** The key of KEY_FILE, if there is one. */
  readonly file?: KeyFile | undefined;
  /** Receives each private key that has to be sent to workers. */
  readonly privateKeys?: Pick<PrivateKeys, 'add'> | undefined;
}

/**
 * Makes RSA-2048 key pairs in memory, with UUIDs as key ids. They are never written anywhere and end with the service. With
 * a key file, it returns the one key of that file, which survives restarts; its id is the `kid` of the file, or else its
 * thumbprint (RFC 7638), and never changes.
 */
export function createKeyFactory({ ids, file, privateKeys }: KeyFactoryParts): KeyFactory {
  return {
    read: readPublicKey,
    async make() {
      const [kid, key] = await (file === undefined ? generate(ids) : fromFile(file));
      privateKeys?.add(kid, key);
      return keyPairOf(kid, key);
    },
  };
}

async function generate(ids: IdGenerator): Promise<[string, KeyObject]> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS_MIN });
  return [ids.uuid(), privateKey];
}

async function fromFile({ key, kid }: KeyFile): Promise<[string, KeyObject]> {
  return [kid ?? (await calculateJwkThumbprint(createPublicKey(key))), key];
}

/** The pair of a private RSA key. Throws unless its public half is usable. */
async function keyPairOf(kid: string, privateKey: KeyObject): Promise<KeyPair> {
  const { n, e } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (typeof n !== 'string' || typeof e !== 'string') throw new Error('the private key is not an RSA key');
  const jwk: PublicKeyJwk = { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e };
  const publicKey = await readPublicKey(jwk);
  if (publicKey === undefined) throw new Error(`the private key is not ${KEY_RULE}`);
  return { kid, publicKey, jwk, sign: rs256(privateKey) };
}

/** The pair of a private key in PKCS#8 (DER). Throws unless its public half is usable. */
export function readSigningKey(kid: string, pkcs8: Uint8Array): Promise<KeyPair> {
  return keyPairOf(kid, createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' }));
}

/** The handle of a public key for RS256, or undefined unless it is usable. */
export async function readPublicKey({ n, e }: PublicKeyJwk): Promise<KeyHandle | undefined> {
  try {
    const key = await importJWK({ kty: 'RSA', alg: 'RS256', use: 'sig', n, e });
    return !(key instanceof Uint8Array) && isUsableKey(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The private keys of a service with several workers. Only the primary has them: it makes them and sends the signing key
 * to its workers. The key factory adds each key that it makes.
 */
export class PrivateKeys {
  readonly #keys = new Map<string, KeyObject>();

  add(kid: string, key: KeyObject): void {
    this.#keys.set(kid, key);
  }

  /** The key with this id in PKCS#8 (RFC 5958), a secret. It is the one that signs now, so all older ones are dropped. */
  signing(kid: string): Uint8Array | undefined {
    const key = this.#keys.get(kid);
    if (key === undefined) return undefined;
    for (const older of this.#keys.keys()) {
      if (older === kid) break;
      this.#keys.delete(older);
    }
    return key.export({ type: 'pkcs8', format: 'der' });
  }
}
