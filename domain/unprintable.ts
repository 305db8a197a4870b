/** Control, format and surrogate characters, line and paragraph separators: what a terminal executes or does not show, and what may end a line. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The rule of texts that people type and programs compare: what nobody sees would make each comparison fail (RFC 6749 appendix A). */
export const NO_UNPRINTABLE = 'must have no line break, control or invisible character';

export function hasUnprintable(text: string): boolean {
  return text.search(UNPRINTABLE) >= 0;
}

/** The same JSON value, with such characters in JSON's own escapes. */
export function printableJsonText(json: string): string {
  return json.replace(UNPRINTABLE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
