/** A key set as it was answered. */
export interface FetchedKeySet {
  readonly text: string;
  /** How long the answer says that it may be kept, in seconds, less what it was kept on its way; undefined where it does not say. */
  readonly maxAgeSeconds: number | undefined;
}

/** Hundreds of keys. What is longer is not read to its end. */
const KEY_SET_MAX_BYTES = 256 * 1024;

/** Asks for a key set by its URL, without following it elsewhere. Throws where there is no answer 200 until the signal aborts. */
export async function fetchKeySet(uri: string, signal: AbortSignal): Promise<FetchedKeySet> {
  const answer = await fetch(uri, {
    signal,
    redirect: 'error',
    headers: { accept: 'application/jwk-set+json, application/json' },
  });
  if (answer.status !== 200 || answer.body === null) {
    await answer.body?.cancel();
    throw new Error(`the key set was answered with status ${answer.status}`);
  }
  return { text: await readText(answer.body), maxAgeSeconds: maxAgeOf(answer.headers) };
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > KEY_SET_MAX_BYTES) throw new Error(`the key set is larger than ${KEY_SET_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** RFC 9111 sections 4.2.1 and 5.1. What must not be kept is as old as it may get. */
function maxAgeOf(headers: Headers): number | undefined {
  const directives = headers.get('cache-control') ?? '';
  if (/(^|[\s,])no-(store|cache)\b/i.test(directives)) return 0;
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,9})\b/i.exec(directives)?.[1];
  if (maxAge === undefined) return undefined;
  const age = Number(headers.get('age') ?? 0);
  return Math.max(0, Number(maxAge) - (Number.isFinite(age) ? age : 0));
}
