/**
 * The value of a JSON text; undefined if it is none, has an object that names a field twice, since two readers could
 * differ on its value (RFC 8259 section 4), or more values or levels than these; objects and arrays count as two
 * values. The parser's message is not used: it quotes the text, which may be a secret.
 */
export function parseJson(text: string, valuesMax = Infinity, depthMax = Infinity): unknown {
  try {
    // Before anything is built: a small text could ask for many objects.
    const named = countNames(text, valuesMax, depthMax);
    const value: unknown = named === undefined ? undefined : JSON.parse(text);
    return named === fieldsOf(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The fields that all objects name. */
function countNames(text: string, valuesMax: number, depthMax: number): number | undefined {
  let [names, values, depth] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfText(text, at);
    else if (character === ':') names += 1;
    else if (character === '}' || character === ']') depth -= 1;
    else if (character === '{' || character === '[') depth += 1;
    if (character === ',' || character === '{' || character === '[') values += 1;
    if (values > valuesMax || depth > depthMax) return undefined;
  }
  return names;
}

/** Where the text that begins here ends. */
function endOfText(json: string, begin: number): number {
  let at = begin + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}

function fieldsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values = Object.values(value);
  return values.reduce<number>((sum, inner) => sum + fieldsOf(inner), Array.isArray(value) ? 0 : values.length);
}
