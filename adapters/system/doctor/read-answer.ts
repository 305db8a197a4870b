import { parseJson } from '../../../domain/parse-json.ts';

/** The longest answer that is read, in bytes: a key set of hundreds of keys. */
const ANSWER_MAX_BYTES = 256 * 1024;

/** The answer is longer than any of this service's. */
export class AnswerTooLong extends Error {
  constructor() {
    super(`the answer is longer than ${ANSWER_MAX_BYTES / 1_024} KiB`);
    this.name = 'AnswerTooLong';
  }
}

/** The JSON in the body of an answer; undefined if it is something else. Throws AnswerTooLong, and then closes the connection. */
export async function readAnswer({ body }: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_MAX_BYTES) throw new AnswerTooLong();
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString());
}
