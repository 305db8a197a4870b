import { printableJsonText, UNPRINTABLE } from '../../domain/unprintable.ts';

/** The text with each character escaped that moves the cursor, changes colors, reorders text or is invisible. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** The beginning of a text that is longer than `max` characters, with a mark that something is missing. */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}

/** A JSON document on one line, with the same characters in JSON's own escapes, so that its value stays the same. */
export function printableJson(document: unknown): string {
  return printableJsonText(JSON.stringify(document));
}
