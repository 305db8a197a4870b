import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readFormParameters } from '../../../adapters/http/parsing/form-parameters.ts';

describe('readFormParameters', () => {
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
        const form = readFormParameters(new URLSearchParams(wellFormed).toString());
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
        const form = readFormParameters(body);
        if (form.ok) expect([...form.value]).toEqual([...new URLSearchParams(body)]);
      }),
    );
  });
});
