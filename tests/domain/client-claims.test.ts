import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CLIENT_CLAIMS_BYTES_MAX, RESERVED_CLAIMS, ruleOfClaims } from '../../domain/client-claims.ts';

describe('claims of a client', () => {
  it.each<readonly [string, unknown]>([
    ['none', {}],
    ['a text', { tenant: 'acme' }],
    ['what RFC 9068 leaves to the deployment', { groups: ['a', 'b'], roles: ['c'], entitlements: ['d'] }],
    ['a URI as a name', { 'https://example.com/plan': 'gold' }],
    ['the same name at two levels', { plan: { Plan: 1 }, other: { plan: 2 } }],
    ['every kind of value', { a: true, b: false, c: null, d: 'é😀', e: [], f: {}, g: '' }],
    ['three levels', { a: { b: { c: 1 } }, d: [[1, 2]] }],
    ['a reserved name below the root', { user: { sub: 'x' } }],
    ['the largest integers', { a: 2 ** 53 - 1, b: -(2 ** 53) + 1, c: 0 }],
    ['a negative number of 15 digits', { a: -12345.6789012345 }],
    ['numbers of 15 digits', { a: 0.1, b: -0.000123456789012345, c: 123456.789012345, d: 1.5e-7 }],
    ['names that objects of JavaScript have', { constructor: 1, toString: 2, hasOwnProperty: 3 }],
  ])('can be %s', (_what, claims) => {
    expect(ruleOfClaims(claims)).toBeUndefined();
  });

  it.each<readonly [string, unknown, string]>([
    ['a list', ['a'], 'must be an object'],
    ['null', null, 'must be an object'],
    ['a text', 'a', 'must be an object'],
    ['four levels of objects', { a: { b: { c: {} } } }, 'at most 3 levels'],
    ['four levels of arrays', { a: [[[]]] }, 'at most 3 levels'],
    ['2^53', { a: 2 ** 53 }, 'numbers that every reader gets exactly'],
    ['2^53 behind another number', { a: 1, b: { c: 2, d: 2 ** 53 } }, 'numbers that every reader gets exactly'],
    [
      'what a number beyond the range of doubles is read as',
      { a: [Infinity] },
      'numbers that every reader gets exactly',
    ],
    ['negative zero, which is written as zero', { a: -0 }, 'numbers that every reader gets exactly'],
    ['a fraction of 16 digits', { a: 0.1234567890123456 }, 'numbers that every reader gets exactly'],
    ['a line feed in a text', { a: ['b\n'] }, 'without control characters'],
    ['a line feed in a name', { 'a\n': 1 }, 'without control characters'],
    ['half of a pair of surrogates', { a: '\ud800' }, 'without control characters'],
    ['names that Go takes for the same one', { tenant: 'a', Tenant: 'b' }, 'no two names that differ only in case'],
    ['such names in an object', { a: [{ b: 1, B: 2 }] }, 'no two names that differ only in case'],
    ['the name __proto__', JSON.parse('{"a":{"__proto__":1}}'), 'no __proto__'],
  ])('cannot be %s', (_what, claims, rule) => {
    expect(ruleOfClaims(claims)).toContain(rule);
  });

  it.each([
    ['Sub', 'sub'],
    ['SCOPE', 'scope'],
    ['\u017fub', 'sub'],
    ['Client_ID', 'client_id'],
    ['\u0130ss', 'iss'],
    ['\u0131at', 'iat'],
    ['MAY_ACT', 'may_act'],
  ])('cannot set %s, which some readers take for a reserved name', (name, reserved) => {
    expect(ruleOfClaims({ [name]: 'x' })).toContain(`must not set ${reserved},`);
  });

  it.each([...RESERVED_CLAIMS])('cannot set %s', (name) => {
    expect(ruleOfClaims({ tenant: 'a', [name]: 'b' })).toContain(`must not set ${name},`);
  });

  it('have at most 1,024 bytes as compact JSON in UTF-8', () => {
    const claimsOf = (bytes: number) => ({ a: 'é'.repeat((bytes - '{"a":""}'.length) / 2) });
    expect(ruleOfClaims(claimsOf(CLIENT_CLAIMS_BYTES_MAX))).toBeUndefined();
    expect(ruleOfClaims(claimsOf(CLIENT_CLAIMS_BYTES_MAX + 2))).toBe(
      'must have at most 1024 bytes as JSON; these have 1026',
    );
  });

  it('are the same after they were written and read again, whatever is accepted', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), (claims) => {
        if (ruleOfClaims(claims) !== undefined) return;
        expect(JSON.parse(JSON.stringify(claims))).toEqual({ ...claims });
      }),
    );
  });

  it('are refused without a word of their values', () => {
    for (const claims of [{ a: 'secret\n' }, { iss: 'secret' }, { a: [[['secret']]] }, { a: 'secret'.repeat(500) }]) {
      expect(ruleOfClaims(claims)).toBeDefined();
      expect(ruleOfClaims(claims)).not.toContain('secret');
    }
  });
});
