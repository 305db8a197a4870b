import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseForm } from '../../../adapters/http/parsing/form.ts';

/** Texts that a form can look like: separators, percent-encodings of every kind, names of objects, and anything else. */
const formText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '&',
        '=',
        '+',
        '%',
        ';',
        '[]',
        '.',
        '\0',
        '\ufeff',
        '__proto__',
        'client_id',
        '\ud800',
        '%ED%A0%80',
      ),
      fc.integer({ min: 0, max: 255 }).map((byte) => `%${byte.toString(16).padStart(2, '0')}`),
      fc.string({ unit: 'grapheme', maxLength: 5 }),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''));
const pairs = fc.uniqueArray(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), {
  selector: ([name]) => name,
  maxLength: 50,
});

describe('parseForm', () => {
  it('reads what URLSearchParams writes, for every flat set of names and values', () => {
    fc.assert(
      fc.property(pairs, (entries) => {
        const wellFormed = entries.map(
          ([name, value]) => [name.toWellFormed(), value.toWellFormed()] as [string, string],
        );
        const form = parseForm(new URLSearchParams(wellFormed).toString());
        expect(form.ok && [...form.value.parameters]).toEqual(wellFormed);
      }),
    );
  });

  it('never disagrees with URLSearchParams on a text that it accepts', () => {
    fc.assert(
      fc.property(formText, (text) => {
        const form = parseForm(text.toWellFormed());
        if (form.ok) expect([...form.value.parameters]).toEqual([...new URLSearchParams(`&${text.toWellFormed()}`)]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('reads again what it has read and URLSearchParams has written', () => {
    fc.assert(
      fc.property(formText, (text) => {
        const form = parseForm(text.toWellFormed());
        if (!form.ok) return;
        const again = parseForm(new URLSearchParams([...form.value.parameters]).toString());
        expect(again.ok && [...again.value.parameters]).toEqual([...form.value.parameters]);
      }),
      { numRuns: 500 },
    );
  });

  it('reads every value of resource, which alone may be repeated', () => {
    const form = parseForm('resource=a&scope=s&resource=b&resource=');
    expect(form).toEqual({ ok: true, value: { parameters: new Map([['scope', 's']]), resources: ['a', 'b', ''] } });
    expect(parseForm('Resource=a&Resource=b')).toEqual({ ok: false, problem: 'parameter_repeated' });
  });

  it('never throws, and says of every text that it does not read which rule it breaks', () => {
    const rules = ['form_encoding_malformed', 'parameters_too_many', 'parameter_repeated'];
    fc.assert(
      fc.property(fc.oneof(formText, fc.string({ unit: 'binary', maxLength: 200 })), (text) => {
        const form = parseForm(text);
        if (!form.ok) expect(rules).toContain(form.problem);
        else expect(form.value.parameters.size + form.value.resources.length).toBeLessThanOrEqual(50);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never reads a text in which a parameter is repeated, however its name is written', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'é', '=', '&', '%', '+', ' '), minLength: 1, maxLength: 5 });
    const written = (text: string) =>
      fc.constantFrom(
        encodeURIComponent(text),
        [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
        new URLSearchParams([[text, '']]).toString().slice(0, -1),
      );
    fc.assert(
      fc.property(
        name.chain((text) => fc.tuple(written(text), written(text))),
        pairs,
        ([one, other], between) => {
          const text = `${one}=1&${new URLSearchParams(between.slice(0, 40))}&${other}`;
          expect(parseForm(text)).toEqual({ ok: false, problem: 'parameter_repeated' });
        },
      ),
    );
  });
});
