import { importJWK, type JWK } from 'jose';
import { isUsableKey, KEY_RULE, type KeyHandle } from '../../application/ports/key-provider.ts';
import { readAnswer } from './read-answer.ts';

/** In seconds: how long a key set is cached if the response does not say, and the longest that it is. */
const MAX_AGE_DEFAULT = 300;
const MAX_AGE_LIMIT = 3_600;

/** A response with a whole key set. Throws unless its status is 200, and if it is too long. */
export async function fetchKeySet(uri: string, init: RequestInit): Promise<Response> {
  const response = await fetch(uri, init);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the key set was answered with status ${response.status}`);
  }
  return new Response(await readAnswer(response), response);
}

/** How long a response may be cached, in seconds, less its time in other caches (RFC 9111 sections 4.2.1 and 5.2.2). */
export function maxAgeOf({ headers }: Response): number {
  const directives = headers.get('cache-control') ?? '';
  if (/(^|[\s,])no-(store|cache)\b/i.test(directives)) return 0;
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,9})\b/i.exec(directives)?.[1];
  if (maxAge === undefined) return MAX_AGE_DEFAULT;
  return Math.min(Number(maxAge) - (Number(headers.get('age')) || 0), MAX_AGE_LIMIT);
}

/**
 * The keys of a set that may verify our tokens, by id: usable RSA keys for signatures with RS256 (RFC 7517
 * section 4). Others are ignored, and so are different keys with one id. Throws if none is left, as in no set of our
 * issuer. jose's own selection would refuse a key for several operations and a key that is listed twice, and accept a
 * weak one.
 */
export async function readKeySet(jwks: readonly JWK[]): Promise<ReadonlyMap<string, KeyHandle>> {
  const usable = jwks.filter(isForRs256);
  const keys = new Map<string, KeyHandle>();
  for (const { kid, n, e } of usable) {
    if (usable.some((other) => other.kid === kid && (other.n !== n || other.e !== e))) continue;
    const key = await importJWK({ kty: 'RSA', alg: 'RS256', n, e }).catch(() => undefined);
    if (key instanceof CryptoKey && isUsableKey(key)) keys.set(kid, key);
  }
  if (keys.size === 0) throw new Error(`the key set holds no key for RS256: ${KEY_RULE}`);
  return keys;
}

/** An absent member allows everything. */
function isForRs256(jwk: JWK): jwk is JWK & { kid: string; n: string; e: string } {
  const { kty, kid, n, e, use = 'sig', alg = 'RS256', key_ops: operations = ['verify'] } = jwk;
  const texts = [kid, n, e].every((member) => typeof member === 'string' && member !== '');
  const verifies = Array.isArray(operations) && operations.includes('verify');
  return kty === 'RSA' && texts && use === 'sig' && alg === 'RS256' && verifies;
}
