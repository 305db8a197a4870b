import { importJWK } from 'jose';
import type { KeyHandle, PublicKeyJwk } from '../../application/ports/key-provider.ts';

/** RFC 7518 section 3.3. */
export const MODULUS_BITS_MIN = 2048;

/** The handle of a public RSA key for RS256, or undefined where it is none, or of fewer than 2048 bits. */
export async function readPublicKey({ n, e }: PublicKeyJwk): Promise<KeyHandle | undefined> {
  try {
    const key = await importJWK({ kty: 'RSA', alg: 'RS256', use: 'sig', n, e });
    if (key instanceof Uint8Array) return undefined;
    const modulusLength = 'modulusLength' in key.algorithm ? Number(key.algorithm.modulusLength) : 0;
    return modulusLength >= MODULUS_BITS_MIN ? key : undefined;
  } catch {
    return undefined;
  }
}
