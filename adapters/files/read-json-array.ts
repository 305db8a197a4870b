import { isUtf8 } from 'node:buffer';
import { ENTRY_BYTES_MAX } from '../../application/ports/client-store.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { jsonFault } from './json-fault.ts';

const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE] = ['"', '\\', ',', '[', ']'].map((text) => text.charCodeAt(0));
const [OPEN_OBJECT, CLOSE_OBJECT, LINE_FEED] = ['{', '}', '\n'].map((text) => text.charCodeAt(0));

const TOO_LONG = `is longer than ${ENTRY_BYTES_MAX} bytes`;

/** Why the text is not a JSON array. The position is that of the entry, counted from 0; undefined before the array. */
interface JsonProblem {
  readonly position: number | undefined;
  readonly text: string;
}

/** The values of an array in the order of the text. Only the last one may be a problem. */
export type JsonEntry = Result<unknown, JsonProblem>;

/**
 * Reads a JSON array (RFC 8259): for each chunk the entries that end in it, so that a text of any length takes no more memory
 * than a chunk and the largest entry. Only the borders of entries are found here, which are commas and brackets outside of
 * strings; `parseJson` decides what an entry is. So a stream is accepted if and only if `parseJson` accepts its text as an
 * array, except for an entry of more than 1 MiB.
 */
export async function* readJsonArray(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly JsonEntry[]> {
  const splitter = new ArraySplitter();
  for await (const chunk of chunks) {
    const entries = [...splitter.read(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))];
    yield entries;
    if (entries.at(-1)?.ok === false) return;
  }
  yield [...splitter.end()];
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
  /** Whether the entry has only white space yet. */
  #isBlank = true;
  /** The line of the bracket or the comma before the entry. */
  #firstLine = 1;
  /** The bytes of the entry that earlier chunks had. */
  #begun = Buffer.alloc(0);

  /** The entries that end in this chunk. Nothing may be read after a problem. */
  *read(chunk: Buffer): Generator<JsonEntry> {
    let start = 0;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] ?? 0;
      if (byte === LINE_FEED) this.#line += 1;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isString) {
        if (byte === QUOTE) this.#isString = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
      } else if (isSpace(byte)) continue;
      else if (this.#state !== 'inside') {
        if (this.#state === 'behind') return yield problem(undefined, 'has more text after the end of the array');
        if (byte !== OPEN) return yield problem(undefined, noArray(byte));
        this.#state = 'inside';
        this.#firstLine = this.#line;
        start = index + 1;
      } else if (this.#depth === 0 && (byte === COMMA || byte === CLOSE)) {
        if (byte === CLOSE) this.#state = 'behind';
        const isEmptyArray = this.#state === 'behind' && this.#isBlank && this.#position === 0;
        const entry = isEmptyArray ? undefined : this.#endEntry(chunk.subarray(start, index));
        if (entry !== undefined) yield entry;
        if (entry?.ok === false) return;
        start = index + 1;
      } else {
        this.#isBlank = false;
        if (byte === QUOTE) this.#isString = true;
        else if (byte === OPEN || byte === OPEN_OBJECT) this.#depth += 1;
        else if (this.#depth > 0 && (byte === CLOSE || byte === CLOSE_OBJECT)) this.#depth -= 1;
      }
    }
    if (this.#state !== 'inside') return;
    this.#begun = Buffer.concat([this.#begun, chunk.subarray(start)]);
    if (this.#begun.length > ENTRY_BYTES_MAX) yield problem(this.#position, TOO_LONG);
  }

  /** The problem of a text that ends here, if there is one. */
  *end(): Generator<JsonEntry> {
    if (this.#state === 'before') yield problem(undefined, 'the text is empty: write [] for an empty array');
    if (this.#state === 'inside') yield problem(this.#position, 'is not complete: the text ends inside the array');
  }

  #endEntry(bytes: Buffer): JsonEntry {
    const [text, position] = [Buffer.concat([this.#begun, bytes]), this.#position];
    const [isBlank, line] = [this.#isBlank, this.#firstLine];
    this.#begun = Buffer.alloc(0);
    this.#position += 1;
    this.#isBlank = true;
    this.#firstLine = this.#line;
    if (text.length > ENTRY_BYTES_MAX) return problem(position, TOO_LONG);
    if (isBlank && this.#state === 'behind')
      return problem(position, `is missing: a comma before the end of the array, in line ${line}`);
    if (isBlank) return problem(position, `is missing: nothing is before the comma in line ${this.#line}`);
    if (!isUtf8(text)) return problem(position, 'is not in UTF-8: save it as UTF-8');
    const value = parseJson(text.toString());
    if (value !== undefined) return success(value);
    return problem(position, `is not JSON: ${jsonFault(text.toString(), line)}`);
  }
}

/** What a first byte that begins no array shows of the whole text. */
function noArray(byte: number): string {
  if (byte === 0xef) return 'begins with a byte order mark: save it as UTF-8 without it';
  return byte >= 0xfe ? 'is in UTF-16: save it as UTF-8' : 'must be a JSON array';
}

function problem(position: number | undefined, text: string): JsonEntry {
  return failure({ position, text });
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
