import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseForm } from '../../../adapters/http/parsing/form.ts';

describe('parseForm', () => {
  it('reads what URLSearchParams writes, for every flat set of names and values', () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), {
      selector: ([name]) => name,
      maxLength: 50,
    });
    fc.assert(
      fc.property(entries, (pairs) => {
        const wellFormed = pairs.map(
          ([name, value]) => [name.toWellFormed(), value.toWellFormed()] as [string, string],
        );
        const form = parseForm(new URLSearchParams(wellFormed).toString());
        expect(form.ok && [...form.value]).toEqual(wellFormed);
      }),
    );
  });

  it('never disagrees with URLSearchParams on a text that it accepts', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '=', '&', '+', '%', '2', '0', 'c', '3', '[', ']', '.', 'é'),
      maxLength: 40,
    });
    fc.assert(
      fc.property(text, (body) => {
        const form = parseForm(body);
        if (form.ok) expect([...form.value]).toEqual([...new URLSearchParams(body)]);
      }),
    );
  });
});
