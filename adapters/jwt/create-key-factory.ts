import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, importJWK } from 'jose';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { KeyFactory, KeyHandle, KeyPair } from '../../application/ports/key-provider.ts';
import { KEY_TYPES, readTokenKey, type TokenAlgorithm, type TokenKey } from '../../domain/token-key.ts';
import { ALGORITHMS, isUsableKey, type RsaSigner } from './algorithms.ts';
import type { KeyFile } from './read-key-file.ts';

interface KeyFactoryParts {
  readonly ids: IdGenerator;
  readonly threads: RsaSigner;
  /** RS256 by default. */
  readonly algorithm?: TokenAlgorithm | undefined;
  /** The key of KEY_FILE, if there is one. */
  readonly file?: KeyFile | undefined;
  /** Receives each private key that has to be sent to workers. */
  readonly privateKeys?: Pick<PrivateKeys, 'add'> | undefined;
}

/**
 * Makes key pairs in memory, with UUIDs as key ids. They are never written anywhere and end with the service. With
 * a key file, it returns the one key of that file, which survives restarts; its id never changes.
 */
export function createKeyFactory({
  ids,
  threads,
  algorithm = 'RS256',
  file,
  privateKeys,
}: KeyFactoryParts): KeyFactory {
  return {
    algorithms: { preferred: algorithm, withOlderPeers: file === undefined ? 'RS256' : algorithm },
    read: readPublicKey,
    async make(alg) {
      const [kid, key] = await (file === undefined ? generate(ids, alg) : fromFile(file, alg));
      privateKeys?.add(kid, key);
      return keyPairOf(kid, alg, key, threads);
    },
  };
}

async function generate(ids: IdGenerator, alg: TokenAlgorithm): Promise<[string, KeyObject]> {
  const [type, options] = ALGORITHMS[alg].generate;
  const { privateKey } = await (promisify(generateKeyPair) as GenerateKeyPair)(type, options);
  return [ids.uuid(), privateKey];
}

/** Its overloads need a literal as the type. */
type GenerateKeyPair = (type: string, options: object) => Promise<{ readonly privateKey: KeyObject }>;

/**
 * The id is the `kid` of the file, or else its thumbprint (RFC 7638). That of a key for PS256 differs: the same file may
 * have signed with RS256, and a key id stands for one algorithm.
 */
async function fromFile({ key, kid }: KeyFile, alg: TokenAlgorithm): Promise<[string, KeyObject]> {
  if (kid !== undefined) return [kid, key];
  const thumbprint = await calculateJwkThumbprint(createPublicKey(key));
  return [alg === 'PS256' ? `${thumbprint}-PS256` : thumbprint, key];
}

/** The pair of a private key. Throws unless its public half is usable. */
async function keyPairOf(kid: string, alg: TokenAlgorithm, key: KeyObject, threads: RsaSigner): Promise<KeyPair> {
  const jwk = readTokenKey({ ...createPublicKey(key).export({ format: 'jwk' }), kid, alg });
  const publicKey = jwk && (await readPublicKey(jwk));
  if (jwk === undefined || publicKey === undefined) throw new Error(`the private key is not ${KEY_TYPES[alg].rule}`);
  return { kid, alg, publicKey, jwk, sign: ALGORITHMS[alg].sign(key, threads) };
}

/** The pair of a private key in PKCS#8 (DER). Throws unless its public half is usable. */
export function readSigningKey(
  kid: string,
  alg: TokenAlgorithm,
  pkcs8: Uint8Array,
  threads: RsaSigner,
): Promise<KeyPair> {
  const key = createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' });
  return keyPairOf(kid, alg, key, threads);
}

/** The handle of a public key, or undefined unless it is usable. */
export async function readPublicKey(jwk: TokenKey): Promise<KeyHandle | undefined> {
  try {
    const key = await importJWK({ ...jwk });
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
