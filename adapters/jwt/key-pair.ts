import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { importJWK } from 'jose';
import type { KeyPair } from '../../application/ports/key-factory.ts';
import { type KeyHandle, MODULUS_BITS_MIN, type PublicKeyJwk } from '../../application/ports/key-provider.ts';
import { rs256 } from './rs256-token-signer.ts';

/** The pair of a private RSA key. Throws unless it is an RSA key of at least 2048 bits. */
export async function keyPairOf(kid: string, privateKey: KeyObject): Promise<KeyPair> {
  const { n, e } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (typeof n !== 'string' || typeof e !== 'string') throw new Error('the private key is not an RSA key');
  const jwk: PublicKeyJwk = { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e };
  const publicKey = await readPublicKey(jwk);
  if (publicKey === undefined) throw new Error('the private key is too small');
  return { kid, publicKey, jwk, sign: rs256(privateKey) };
}

/** The pair of a private key in PKCS#8 (DER). Throws unless it is an RSA key of at least 2048 bits. */
export function readSigningKey(kid: string, pkcs8: Uint8Array): Promise<KeyPair> {
  return keyPairOf(kid, createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' }));
}

/** The handle of a public key for RS256, or undefined unless it is an RSA key of at least 2048 bits. */
export async function readPublicKey({ n, e }: PublicKeyJwk): Promise<KeyHandle | undefined> {
  try {
    const key = await importJWK({ kty: 'RSA', alg: 'RS256', use: 'sig', n, e });
    if (key instanceof Uint8Array) return undefined;
    const modulusBits = 'modulusLength' in key.algorithm ? Number(key.algorithm.modulusLength) : 0;
    return modulusBits >= MODULUS_BITS_MIN ? key : undefined;
  } catch {
    return undefined;
  }
}
