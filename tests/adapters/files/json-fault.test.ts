import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonFault, jsonReader } from '../../../adapters/files/json-fault.ts';
import { failure, success } from '../../../domain/result.ts';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const SECRET = 'its-secret';

describe('jsonFault', () => {
  it.each([
    [
      'a trailing comma in an array',
      `[\n {"a": "${SECRET}"},\n]`,
      'line 2, column 21: a comma before the end of the array',
    ],
    [
      'a trailing comma in an object',
      `{"a": "${SECRET}",\n}`,
      'line 1, column 19: a comma before the end of the object',
    ],
    ['a missing comma', `["${SECRET}"\n"b"]`, 'line 2, column 1: a comma or the end of the array is missing'],
    ['a missing colon', `{"a" "${SECRET}"}`, 'line 1, column 6: a colon is missing after the name of a member'],
    ['a name without quotes', `{a: "${SECRET}"}`, 'line 1, column 2: the name of a member in double quotes is missing'],
    ['single quotes', `['${SECRET}']`, 'line 1, column 2: JSON has double quotes only'],
    ['a comment', `[ // ${SECRET}\n1]`, 'line 1, column 3: JSON has no comments'],
    [
      'a byte order mark',
      `\ufeff["${SECRET}"]`,
      'line 1, column 1: a byte order mark: save the file as UTF-8 without it',
    ],
    ['a string that does not end', `["${SECRET}]`, 'line 1, column 2: the string that begins here does not end'],
    ['a line break in a string', `["${SECRET}\n"]`, /^line 1, column 13: a line break or another control character/],
    ['an unknown escape', `["C:\\${SECRET}"]`, /^line 1, column 5: a backslash that JSON does not know/],
    ['a text without quotes', `[${SECRET}]`, 'line 1, column 2: a value is missing, or is not JSON'],
    ['a number with a zero in front', '[012]', 'line 1, column 2: a value is missing, or is not JSON'],
    ['an end in the middle', `[{"a": "${SECRET}"`, /^line 1, column 20: the text ends too early$/],
    ['more behind the end', `[]\n${SECRET}`, 'line 2, column 1: more text after the end of the value'],
    ['nothing', ' \n', 'the text is empty'],
  ])('names line, column and cure of %s, without the text', (_name, text, fault) => {
    expect(isJson(text)).toBe(false);
    expect(jsonFault(text)).toEqual(typeof fault === 'string' ? fault : expect.stringMatching(fault));
    expect(jsonFault(text)).not.toContain(SECRET);
  });

  it('counts characters, not the halves of surrogate pairs', () => {
    expect(jsonFault('["😀" 1]')).toBe('line 1, column 6: a comma or the end of the array is missing');
  });

  it('finds a fault if and only if JSON.parse does', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'[]{},:"\\ 1a-.eE0tu\n\u0001\ufeff/'), { maxLength: 12 }), (letters) => {
        const text = letters.join('');
        for (const value of [text, `[${text}]`, `{"a":${text}}`, `"${text}"`]) {
          expect([value, jsonFault(value) === undefined]).toEqual([value, isJson(value)]);
        }
      }),
      { numRuns: 2_000 },
    );
    fc.assert(fc.property(fc.json({ maxDepth: 8 }), (text) => expect(jsonFault(text)).toBeUndefined()));
  });

  it('finds the fault in a text of ten megabytes and a thousand levels', () => {
    expect(jsonFault(`["${'x\\n'.repeat(5_000_000)}",]`)).toContain('a comma before the end of the array');
    expect(jsonFault('['.repeat(1_000))).toContain('more than 100 levels');
  });
});

describe('jsonReader', () => {
  it('reports the place if the text is not JSON, and otherwise what the reader finds', () => {
    const read = jsonReader((text) => (text === '[]' ? success(1) : failure(['must be empty'])));
    expect([read('[]'), read('[1]'), read('[1')]).toEqual([
      success(1),
      failure(['must be empty']),
      failure(['is not JSON: line 1, column 3: the text ends too early']),
    ]);
  });
});
