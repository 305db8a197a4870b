import fc from 'fast-check';

/** The surrogates, which are no characters. */
const [FIRST, COUNT] = [0xd800, 0x800];

/**
 * Any one Unicode character. As `unit: 'binary'` of fast-check, which builds a map of all of them first: half a second
 * and 100 MB for each file of tests.
 */
const CHARACTER = fc.nat({ max: 0x10ffff - COUNT }).map(
  (number) => String.fromCodePoint(number < FIRST ? number : number + COUNT),
  (text) => {
    const [character, more] = typeof text === 'string' ? text : [];
    if (character === undefined || more !== undefined) throw new Error('not one character');
    const number = character.codePointAt(0) ?? 0;
    return number < FIRST ? number : number - COUNT;
  },
);

/** Any text. Lengths are in characters. */
export function anyText(lengths: { readonly minLength?: number; readonly maxLength?: number } = {}) {
  return fc.string({ unit: CHARACTER, ...lengths });
}
