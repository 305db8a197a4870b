import { describe, expect, it } from '@jest/globals';
import { printable, printableJson } from '../../../adapters/cli/printable.ts';

describe('printable', () => {
  it.each([
    ['an escape sequence', '\u001b[31m', '\\u{1b}[31m'],
    ['its one-byte form', '\u009b31m', '\\u{9b}31m'],
    ['a line break', 'a\r\nb', 'a\\u{d}\\u{a}b'],
    ['text that reads backwards', 'a\u202eb', 'a\\u{202e}b'],
    ['characters without width', 'a\u200bb', 'a\\u{200b}b'],
    ['an invisible tag', '\u{e0041}', '\\u{e0041}'],
    ['a line separator', '\u2028', '\\u{2028}'],
    ['half a surrogate pair', '\ud800', '\\u{d800}'],
  ])('escapes %s', (_what, text, shown) => {
    expect(printable(text)).toBe(shown);
    expect(printableJson({ text })).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(printableJson({ text }))).toEqual({ text });
  });

  it.each(['Billing', 'Zahlungsgebühren', '請求', '\u{1F511}', 'O\'Neill \\ "Sons"'])('does not change %s', (text) => {
    expect(printable(text)).toBe(text);
    expect(JSON.parse(printableJson(text))).toBe(text);
  });
});
