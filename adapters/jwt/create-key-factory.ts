import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
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
}

/**
 * Makes key pairs in memory, with UUIDs as key ids. They are never written anywhere and end with the service. With
 * a key file, it returns the one key of that file, which survives restarts; its id never changes.
 */
export function createKeyFactory({ ids, threads, algorithm = 'RS256', file }: KeyFactoryParts): KeyFactory {
  return {
    algorithms: { preferred: algorithm, withOlderPeers: file === undefined ? 'RS256' : algorithm },
    read: readPublicKey,
    async make(alg) {
      const [kid, key] = await (file === undefined ? generate(ids, alg) : fromFile(file, alg));
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

/** The handle of a public key, or undefined unless it is usable. */
export async function readPublicKey(jwk: TokenKey): Promise<KeyHandle | undefined> {
  try {
    const key = await importJWK({ ...jwk });
    return !(key instanceof Uint8Array) && isUsableKey(key) ? key : undefined;
  } catch {
    return undefined;
  }
}
