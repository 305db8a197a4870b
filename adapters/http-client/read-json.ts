import { parseJson } from '../../domain/parse-json.ts';

/** The longest answer that is read, in bytes: a key set of hundreds of keys. */
const ANSWER_MAX_BYTES = 256 * 1024;

/** The response is longer than a key set, or any other response of this service. */
export class ResponseTooLong extends Error {
  constructor() {
    super(`the response is longer than ${ANSWER_MAX_BYTES / 1_024} KiB`);
    this.name = 'ResponseTooLong';
  }
}

/**
 * The body of a response, undefined if it is not JSON. Throws ResponseTooLong, and then closes the connection. The
 * signal of the request bounds the time.
 */
export async function readJson({ body }: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_MAX_BYTES) throw new ResponseTooLong();
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString());
}
