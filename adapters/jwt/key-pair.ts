import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { KeyPair } from '../../application/ports/key-factory.ts';
import type { PublicKeyJwk } from '../../application/ports/key-provider.ts';
import { readPublicKey } from './read-public-key.ts';

/** A key for signing, from PKCS#8 in DER. Throws where it is no RSA key of at least 2048 bits. */
export function readSigningKey(kid: string, pkcs8: Uint8Array): Promise<KeyPair> {
  return keyPairOf(kid, createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' }));
}

/**
 * The pair of a private RSA key, which signs with Node's own `crypto.sign` where it is called: see decision 0201.
 * Throws where the key is no RSA key of at least 2048 bits.
 */
export async function keyPairOf(kid: string, privateKey: KeyObject): Promise<KeyPair> {
  const { n, e } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (typeof n !== 'string' || typeof e !== 'string') throw new Error('the private key is no RSA key');
  const jwk: PublicKeyJwk = { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e };
  const publicKey = await readPublicKey(jwk);
  if (publicKey === undefined) throw new Error('the private key is too small');
  return { kid, publicKey, jwk, sign: (data) => sign('sha256', data, privateKey) };
}
