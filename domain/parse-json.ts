/** The value of a JSON text; undefined if it is none. The parser's message is not used: it quotes the text, which may be a secret. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
