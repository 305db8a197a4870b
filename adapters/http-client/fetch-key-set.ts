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
