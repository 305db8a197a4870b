import { importJWK, type JWK } from 'jose';
import { type KeyHandle, MODULUS_BITS_MIN } from '../../application/ports/key-provider.ts';

/**
 * The keys of a set that may verify our tokens, by id: RSA of at least 2048 bits for signatures with RS256 (RFC 7517
 * section 4). Others are ignored, and so are different keys with one id. Throws if none is left, as in no set of our
 * issuer. jose's own selection would refuse a key for several operations and a key that is listed twice, and accept a
 * small one.
 */
export async function readKeySet(jwks: readonly JWK[]): Promise<ReadonlyMap<string, KeyHandle>> {
  const usable = jwks.filter(isForRs256);
  const keys = new Map<string, KeyHandle>();
  for (const { kid, n, e } of usable) {
    if (usable.some((other) => other.kid === kid && (other.n !== n || other.e !== e))) continue;
    const key = await importJWK({ kty: 'RSA', alg: 'RS256', n, e }).catch(() => undefined);
    if (key instanceof CryptoKey && modulusBits(key) >= MODULUS_BITS_MIN) keys.set(kid, key);
  }
  if (keys.size === 0) throw new Error('the key set holds no RSA key of at least 2048 bits for RS256');
  return keys;
}

/** An absent member allows everything. */
function isForRs256(jwk: JWK): jwk is JWK & { kid: string; n: string; e: string } {
  const { kty, kid, n, e, use = 'sig', alg = 'RS256', key_ops: operations = ['verify'] } = jwk;
  const texts = [kid, n, e].every((member) => typeof member === 'string' && member !== '');
  const verifies = Array.isArray(operations) && operations.includes('verify');
  return kty === 'RSA' && texts && use === 'sig' && alg === 'RS256' && verifies;
}

function modulusBits({ algorithm }: KeyHandle): number {
  return 'modulusLength' in algorithm ? Number(algorithm.modulusLength) : 0;
}
