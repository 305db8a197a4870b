/** In seconds: how long a key set is cached if the response does not say, and the longest that it is. */
const MAX_AGE_DEFAULT = 300;
const MAX_AGE_LIMIT = 3_600;

/** Hundreds of keys. The rest of a longer response is not read. */
const KEY_SET_MAX_BYTES = 256 * 1024;

/** A response with a whole key set. Throws unless its status is 200, and if it is too long. */
export async function fetchKeySet(uri: string, init: RequestInit): Promise<Response> {
  const response = await fetch(uri, init);
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new Error(`the key set was answered with status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > KEY_SET_MAX_BYTES) throw new Error(`the key set is larger than ${KEY_SET_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks), response);
}

/** How long a response may be cached, in seconds, less its time in other caches (RFC 9111 sections 4.2.1 and 5.2.2). */
export function maxAgeOf({ headers }: Response): number {
  const directives = headers.get('cache-control') ?? '';
  if (/(^|[\s,])no-(store|cache)\b/i.test(directives)) return 0;
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,9})\b/i.exec(directives)?.[1];
  if (maxAge === undefined) return MAX_AGE_DEFAULT;
  return Math.min(Number(maxAge) - (Number(headers.get('age')) || 0), MAX_AGE_LIMIT);
}
