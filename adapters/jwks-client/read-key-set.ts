import type { KeyHandle, PublicKeyJwk } from '../../application/ports/key-provider.ts';
import { readPublicKey } from '../jwt/read-public-key.ts';

/**
 * The keys of a JSON Web Key Set (RFC 7517 section 5) that may verify our tokens, by their ids: RSA of at least 2048 bits,
 * for signatures with RS256. Others are as if they were not there, and so is an id that stands for two of them.
 * Throws where it is no key set, or one without any such key: no issuer of ours is without.
 */
export async function readKeySet(text: string): Promise<ReadonlyMap<string, KeyHandle>> {
  const jwks = membersOf(JSON.parse(text)).filter(isForRs256);
  const distinct = jwks.filter(({ kid, n, e }) =>
    jwks.every((other) => other.kid !== kid || (other.n === n && other.e === e)),
  );
  const keys = new Map<string, KeyHandle>();
  for (const jwk of distinct) {
    const handle = await readPublicKey(jwk);
    if (handle !== undefined) keys.set(jwk.kid, handle);
  }
  if (keys.size === 0) throw new Error('the key set holds no RSA key of at least 2048 bits for RS256');
  return keys;
}

function membersOf(keySet: unknown): readonly unknown[] {
  const keys = typeof keySet === 'object' && keySet !== null && 'keys' in keySet ? keySet.keys : undefined;
  if (!Array.isArray(keys)) throw new Error('what was answered is no JSON Web Key Set');
  return keys;
}

/** RFC 7517 sections 4.2 to 4.5; a member that is absent allows everything. */
function isForRs256(jwk: unknown): jwk is PublicKeyJwk {
  if (typeof jwk !== 'object' || jwk === null) return false;
  const { kty, kid, n, e, use, alg, key_ops: operations } = jwk as Readonly<Record<string, unknown>>;
  return (
    kty === 'RSA' &&
    isText(kid) &&
    isText(n) &&
    isText(e) &&
    (use === undefined || use === 'sig') &&
    (alg === undefined || alg === 'RS256') &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
