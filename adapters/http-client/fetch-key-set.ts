import type { KeyFactory, KeyHandle } from '../../application/ports/key-provider.ts';
import { KEY_TYPES, readTokenKey } from '../../domain/token-key.ts';
import { readJson } from './read-json.ts';

/** In seconds: how long a key set is cached if the response does not say, and the longest that it is. */
const MAX_AGE_DEFAULT = 300;
const MAX_AGE_LIMIT = 3_600;

/**
 * The document at the URL of a key set, undefined if it is not JSON, and for how many seconds it may be cached. Throws unless the status
 * is 200, and if it is too long. A redirect is refused: it would name a URL that the operator does not trust.
 */
export async function fetchKeySet(uri: string, signal: AbortSignal) {
  const headers = { accept: 'application/jwk-set+json, application/json' };
  const response = await fetch(uri, { redirect: 'manual', signal, headers });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the key set was answered with status ${response.status}`);
  }
  return { document: await readJson(response), maxAgeSeconds: maxAgeOf(response) };
}

/** How long a response may be cached, in seconds, less its time in other caches (RFC 9111 sections 4.2.1 and 5.2.2). */
function maxAgeOf({ headers }: Response): number {
  const directives = headers.get('cache-control') ?? '';
  if (/(^|[\s,])no-(store|cache)\b/i.test(directives)) return 0;
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,9})\b/i.exec(directives)?.[1];
  if (maxAge === undefined) return MAX_AGE_DEFAULT;
  return Math.min(Number(maxAge) - (Number(headers.get('age')) || 0), MAX_AGE_LIMIT);
}

/**
 * The keys of a set that may verify our tokens, by id: usable keys for signatures with an algorithm of ours (RFC 7517
 * section 4). Others are ignored, and so are different keys with one id. Throws if none is left, as in no set of our
 * issuer. jose's own selection would refuse a key for several operations and a key that is listed twice, and accept a
 * weak one.
 */
export async function readKeySet(document: unknown, read: KeyFactory['read']): Promise<ReadonlyMap<string, KeyHandle>> {
  const jwks = (document as { readonly keys?: unknown } | null | undefined)?.keys;
  if (!Array.isArray(jwks)) throw new Error('the key set is not JSON with an array of keys');
  const usable = jwks.map(readTokenKey).filter((jwk) => jwk !== undefined);
  const keys = new Map<string, KeyHandle>();
  for (const jwk of usable) {
    if (usable.some((other) => other.kid === jwk.kid && JSON.stringify(other) !== JSON.stringify(jwk))) continue;
    const key = await read(jwk);
    if (key !== undefined) keys.set(jwk.kid, key);
  }
  const rules = Object.entries(KEY_TYPES).map(([name, { rule }]) => `${name}: ${rule}`);
  if (keys.size === 0) throw new Error(`the key set holds no key for ${rules.join('; or for ')}`);
  return keys;
}
