import { failure, type Result } from '../../domain/result.ts';

/** The texts that a JSON value may be besides an array, an object and a string (RFC 8259 sections 3 and 6). */
const PLAIN_VALUE = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
/** The beginning of a document, a list or a mapping. */
const YAML = /^\s*(---|- |[A-Za-z_]+:\s)/;
const SPACE = /[\t\n\r ]*/y;
const STRING_CHARACTERS = /[^"\\\p{Cc}]+|[\x7f-\x9f]/uy;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** The deepest nesting that is followed. Nothing that this project reads has more than ten levels. */
const DEPTH_MAX = 100;

/** Which one counts depends on the reader (RFC 8259 section 4). */
const NAMED_TWICE = 'a field that this object has already';

const MORE = 'more text after the end of the value: several values need commas between them, and [ ] around them';

class Fault extends Error {
  readonly index: number;
  constructor(index: number, what: string) {
    super(what);
    this.index = index;
  }
}

/**
 * Where a text stops being JSON (RFC 8259), and what is wrong there, such as `line 3, column 1: a comma before the end
 * of the array`. Undefined if it is JSON. Columns count characters from 1. Unlike the parser's own message it never
 * quotes the text, which may contain secrets.
 *
 * @param firstLine the line in which a part of a longer text begins, whose columns are not known.
 */
export function jsonFault(text: string, firstLine?: number): string | undefined {
  if (text.trim() === '') return 'the text is empty';
  if (YAML.test(text)) return at(text, 0, 'this looks like YAML: write it as JSON', firstLine);
  try {
    const end = skipSpace(text, skipValue(text, 0, 0));
    return end === text.length ? undefined : at(text, end, MORE, firstLine);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return at(text, fault.index, fault.message, firstLine);
  }
}

/** The same reader, which reports where a text stops being JSON, and then nothing else. */
export function jsonReader<Value>(read: (json: string) => Result<Value, readonly string[]>): typeof read {
  return (text) => {
    const value = read(text);
    const fault = value.ok ? undefined : jsonFault(text);
    return fault === undefined ? value : failure([`is not JSON: ${fault}`]);
  };
}

function at(text: string, index: number, what: string, firstLine: number | undefined): string {
  const before = text.slice(0, index);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  if (firstLine !== undefined) return `line ${firstLine - 1 + line}: ${what}`;
  return `line ${line}, column ${[...before.slice(lineStart)].length + 1}: ${what}`;
}

/** The index behind the value that begins here. */
function skipValue(text: string, start: number, depth: number): number {
  const index = skipSpace(text, start);
  if (depth > DEPTH_MAX) throw new Fault(index, `more than ${DEPTH_MAX} levels`);
  switch (text[index]) {
    case '[':
      return skipList(text, index, { end: ']', name: 'array' }, (at) => skipValue(text, at, depth + 1));
    case '{': {
      const names = new Set<unknown>();
      return skipList(text, index, { end: '}', name: 'object' }, (at) => {
        const end = skipName(text, at);
        if (names.size === names.add(JSON.parse(text.slice(at, end))).size) throw new Fault(at, NAMED_TWICE);
        const colon = skipSpace(text, end);
        if (text[colon] !== ':') throw new Fault(colon, 'a colon is missing after the name of a field');
        return skipValue(text, colon + 1, depth + 1);
      });
    }
    case '"':
      return skipString(text, index);
    default: {
      const end = match(PLAIN_VALUE, text, index);
      if (end > index && !/\w/.test(text[end] ?? '')) return end;
      throw new Fault(index, unexpected(text, index, 'a value is missing, or is not JSON'));
    }
  }
}

/** The index behind a list of entries that commas separate. */
function skipList(
  text: string,
  start: number,
  { end, name }: { readonly end: string; readonly name: string },
  skipEntry: (start: number) => number,
): number {
  let index = skipSpace(text, start + 1);
  if (text[index] === end) return index + 1;
  for (;;) {
    index = skipSpace(text, skipEntry(index));
    if (text[index] === end) return index + 1;
    if (text[index] !== ',') {
      throw new Fault(index, unexpected(text, index, `a comma or the end of the ${name} is missing`));
    }
    const comma = index;
    index = skipSpace(text, comma + 1);
    if (text[index] === end) throw new Fault(comma, `a comma before the end of the ${name}`);
  }
}

function skipName(text: string, start: number): number {
  if (text[start] === '"') return skipString(text, start);
  throw new Fault(start, unexpected(text, start, 'the name of a field in double quotes is missing'));
}

function skipString(text: string, start: number): number {
  let end = start;
  for (let next = start + 1; next > end; next = match(text[end] === '\\' ? ESCAPE : STRING_CHARACTERS, text, end)) {
    end = next;
  }
  if (text[end] === '"') return end + 1;
  if (end === text.length) throw new Fault(start, 'the string that begins here does not end');
  if (text[end] === '\\') throw new Fault(end, 'a backslash that JSON does not know: write \\\\ for a backslash');
  throw new Fault(end, 'a line break or another control character in a string, or a quotation mark that is missing');
}

/** The frequent faults by the character that is found, and otherwise the rule. */
function unexpected(text: string, index: number, rule: string): string {
  if (index >= text.length) return 'the text ends too early';
  if (text[index] === '\ufeff') return 'a byte order mark: save the file as UTF-8 without it';
  if (text[index] === "'") return 'JSON has double quotes only';
  if (text[index] === '/' || text[index] === '#') return 'JSON has no comments';
  return rule;
}

function skipSpace(text: string, start: number): number {
  return match(SPACE, text, start);
}

/** Where the match that begins here ends; `start` if there is none. */
function match(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}
