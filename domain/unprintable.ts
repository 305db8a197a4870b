/** Control, format and surrogate characters, line and paragraph separators: what a terminal executes or does not show, and what may end a line. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The same JSON value, with such characters in JSON's own escapes. */
export function printableJsonText(json: string): string {
  return json.replace(UNPRINTABLE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
