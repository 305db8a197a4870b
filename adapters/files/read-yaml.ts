import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, type Scalar } from 'yaml';
import { failure, type Result, success } from '../../domain/result.ts';

/** The deepest nesting of a document. */
const DEPTH_MAX = 100;

/** How JSON writes a number (RFC 8259 section 6). */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The most digits that every double carries from text to text. */
const DIGITS_MAX = 15;

const OFTEN = ': often a tab, a wrong indentation, or a text with a colon that needs quotation marks';

class Fault extends Error {
  readonly node: Node | null;
  constructor(node: Node | null, what: string) {
    super(what);
    this.node = node;
  }
}

/**
 * The values of the documents of a YAML text (YAML 1.2, core schema), which have only the types of JSON: no aliases,
 * which can multiply, no tags, no repeated names. Or where the text breaks a rule, such as `line 3, column 5: …`; it
 * never quotes the text, which may contain secrets.
 */
export function readYaml(text: string): Result<readonly unknown[], string> {
  const lineCounter = new LineCounter();
  const at = (offset: number, what: string) => {
    const { line, col } = lineCounter.linePos(offset);
    return failure(`line ${line}, column ${col}: ${what}`);
  };
  try {
    // `toValue` compares the names: the library takes the square of their number.
    const options = { lineCounter, prettyErrors: false, uniqueKeys: false, schema: 'core', version: '1.2' } as const;
    const values: unknown[] = [];
    for (const document of parseAllDocuments(text, options)) {
      const [error] = [...document.errors, ...document.warnings];
      const hint = document.errors.length > 0 ? OFTEN : '';
      if (error !== undefined) return at(error.pos[0], `is not YAML that can be read (${error.code})${hint}`);
      if (document.directives?.yaml.explicit && document.directives.yaml.version !== '1.2') {
        return failure('must be YAML 1.2');
      }
      const { contents } = document;
      if (contents !== null && !(isScalar(contents) && contents.value === null)) values.push(toValue(contents, 0));
    }
    return success(values);
  } catch (fault) {
    if (fault instanceof Fault) return at(fault.node?.range?.[0] ?? 0, fault.message);
    // The parser recurses.
    if (fault instanceof RangeError) return failure('has too many levels');
    throw fault;
  }
}

function toValue(node: Node | null, depth: number): unknown {
  if (node === null) return null;
  if (depth > DEPTH_MAX) throw new Fault(node, `more than ${DEPTH_MAX} levels`);
  if (isAlias(node)) throw new Fault(node, 'an alias: write out what it means');
  if (node.tag !== undefined) throw new Fault(node, 'a tag: JSON has no such type');
  if (isSeq<Node | null>(node)) return node.items.map((item) => toValue(item, depth + 1));
  if (!isMap<Node | null, Node | null>(node)) return scalarOf(node as Scalar);
  const names = new Set<string>();
  const fields = node.items.map(({ key, value }) => {
    const name = key === null ? null : toValue(key, depth + 1);
    if (typeof name !== 'string') throw new Fault(key ?? node, 'a name that is no text: put it in quotes');
    if (names.size === names.add(name).size) throw new Fault(key, 'a name that this mapping has already');
    return [name, toValue(value, depth + 1)] as const;
  });
  return Object.fromEntries(fields);
}

function scalarOf(node: Scalar): unknown {
  const { value, source = '' } = node;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  const isExact = Number.isSafeInteger(value) || source.replaceAll(/e.*|\D/gi, '').length <= DIGITS_MAX;
  if (typeof value === 'number' && JSON_NUMBER.test(source) && isExact) return value;
  throw new Fault(node, 'a number that JSON cannot carry exactly: write it as JSON does, or put it in quotes');
}
