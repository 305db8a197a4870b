import { ENTRY_BYTES_MAX } from '../../application/ports/client-store.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { failure, type Result, success } from '../../domain/result.ts';

/** The largest batch of entries. It bounds the memory that a file of any size takes, as does the largest entry. */
const BATCH_BYTES = 1_048_576;
const BATCH_ENTRIES = 1_000;

const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE] = ['"', '\\', ',', '[', ']'].map((text) => text.charCodeAt(0));
const [OPEN_OBJECT, CLOSE_OBJECT, LINE_FEED] = ['{', '}', '\n'].map((text) => text.charCodeAt(0));

/** Why the text is not a JSON array. The position is that of the entry, counted from 0; undefined before the array. */
interface JsonProblem {
  readonly position: number | undefined;
  readonly text: string;
}

/** The values of an array in the order of the text. Only the last one may be a problem. */
export type JsonEntry = Result<unknown, JsonProblem>;

/**
 * Reads a JSON array (RFC 8259) entry by entry. Only the borders of entries are found here, which are commas and brackets
 * outside of strings; `JSON.parse` decides what an entry is. So a stream is accepted if and only if `JSON.parse` accepts
 * its text as an array, except for an entry of more than 1 MiB.
 */
export async function* readJsonArray(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly JsonEntry[]> {
  const splitter = new ArraySplitter();
  for await (const chunk of chunks) {
    for (const batch of splitter.read(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))) {
      yield batch;
      if (batch.at(-1)?.ok === false) return;
    }
  }
  yield splitter.end();
}

/** The state between two chunks. */
class ArraySplitter {
  #state: 'before' | 'inside' | 'behind' = 'before';
  /** Brackets and braces that are open inside the entry. */
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  #position = 0;
  /** The line of the text that has been read, counted from 1. */
  #line = 1;
  /** The bytes of the entry that earlier chunks had. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #batch: JsonEntry[] = [];
  #batchBytes = 0;

  /** The batches that end in this chunk. A problem is the last entry of its batch, and nothing may be read after it. */
  *read(chunk: Buffer): Generator<readonly JsonEntry[]> {
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isString) {
        if (byte === QUOTE) this.#isString = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
      } else if (this.#state !== 'inside') {
        if (byte === LINE_FEED) this.#line += 1;
        if (this.#state === 'before' && byte === OPEN) this.#state = 'inside';
        else if (!isSpace(byte)) return yield this.#problem('must be a JSON array');
        start = index + 1;
      } else if (byte === QUOTE) this.#isString = true;
      else if (byte === OPEN || byte === OPEN_OBJECT) this.#depth += 1;
      else if (this.#depth > 0) {
        if (byte === CLOSE || byte === CLOSE_OBJECT) this.#depth -= 1;
      } else if (byte === COMMA || byte === CLOSE) {
        const isProblem = !this.#endEntry(chunk.subarray(start, index), byte === CLOSE);
        start = index + 1;
        if (byte === CLOSE) this.#state = 'behind';
        if (isProblem || this.#batch.length >= BATCH_ENTRIES || this.#batchBytes >= BATCH_BYTES)
          yield this.#takeBatch();
        if (isProblem) return;
      }
    }
    // Copied: a stream may use the memory of a chunk again.
    if (this.#state === 'inside') this.#keep(Buffer.from(chunk.subarray(start)));
    if (this.#begunBytes > ENTRY_BYTES_MAX) yield this.#problem(`is longer than ${ENTRY_BYTES_MAX} bytes`);
  }

  /** The last batch, at the end of the text. */
  end(): readonly JsonEntry[] {
    if (this.#state === 'behind') return this.#takeBatch();
    return this.#problem(
      this.#state === 'before' ? 'must be a JSON array' : 'is not complete: the text ends inside the array',
    );
  }

  #keep(bytes: Buffer): void {
    this.#begun.push(bytes);
    this.#begunBytes += bytes.length;
  }

  /** False if the entry is a problem. */
  #endEntry(bytes: Buffer, isLast: boolean): boolean {
    this.#keep(bytes);
    const size = this.#begunBytes;
    const text = Buffer.concat(this.#begun).toString();
    this.#begun = [];
    this.#begunBytes = 0;
    if (isLast && this.#position === 0 && /^[\t\n\r ]*$/.test(text)) return true;
    const isMissing = isLast && text.trim() === '';
    const line = this.#line + (isMissing ? 0 : linesOf(/^\s*/.exec(text)?.[0] ?? ''));
    this.#line += linesOf(text);
    const entry = size > ENTRY_BYTES_MAX ? undefined : parseJson(text);
    if (entry === undefined) {
      if (size > ENTRY_BYTES_MAX) this.#problem(`is longer than ${ENTRY_BYTES_MAX} bytes`);
      else if (isMissing) this.#problem(`is missing: a comma before the end of the array, in line ${line}`);
      else this.#problem(`is not JSON; it begins in line ${line}`);
      return false;
    }
    this.#batch.push(success(entry));
    this.#batchBytes += size;
    this.#position += 1;
    return true;
  }

  #problem(text: string): readonly JsonEntry[] {
    this.#batch.push(failure({ position: this.#state === 'inside' ? this.#position : undefined, text }));
    return this.#batch;
  }

  #takeBatch(): readonly JsonEntry[] {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    return batch;
  }
}

/** The line breaks in a text. */
function linesOf(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
