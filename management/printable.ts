/** Control, format and surrogate characters, line and paragraph separators: what a terminal obeys or does not show. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text as a terminal may show it: what would move the cursor, change colours or turn letters around is spelled out. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** One JSON document on one line, in which those characters are escaped as JSON has it, so that it means the same. */
export function printableJson(document: unknown): string {
  return JSON.stringify(document).replace(UNPRINTABLE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
