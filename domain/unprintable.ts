/**
 * Control, format and surrogate characters, line and paragraph separators, and letters and symbols that are blank, such
 * as the Hangul filler: what a terminal executes or does not show, and what may end a line.
 */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

/**
 * The rule of texts that people type and programs compare: what nobody sees would make each comparison fail (RFC 6749
 * appendix A).
 */
export const NO_UNPRINTABLE = 'must have no line break, control or invisible character';

export function hasUnprintable(text: string): boolean {
  return text.search(UNPRINTABLE) >= 0;
}

const ONLY_ASCII = /^[\x20-\x7e]*$/;

/** The same JSON value, with such characters in JSON's own escapes. */
export function printableJsonText(json: string): string {
  if (ONLY_ASCII.test(json)) return json;
  return json.replace(UNPRINTABLE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
