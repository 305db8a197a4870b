import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { closestTo, editDistance } from '../../domain/edit-distance.ts';

describe('closestTo', () => {
  it.each([
    ['biling', 'billing'],
    ['BILLING', 'billing'],
    ['repotrs-nihgtly', 'reports-nightly'],
    ['bill', undefined],
    ['payments', undefined],
    ['', undefined],
    ['billing-2x', 'billing-2'],
    ['bxllxng', undefined],
    ['repoxtsy', 'reports'],
    ['rexorts-nixhtly', 'reports-nightly'],
    ['rexorts-nixhtlyx', undefined],
  ])('takes %j for %j', (given, meant) => {
    expect(closestTo(given, ['reports', 'billing', 'billing-2', 'reports-nightly'])).toBe(meant);
  });
});

describe('editDistance', () => {
  it('counts letters that are inserted, deleted, replaced or swapped', () => {
    expect(['', 'ab', 'abcd', 'abd', 'xbc', 'acb'].map((text) => editDistance('abc', text))).toEqual([
      3, 1, 1, 1, 1, 1,
    ]);
    expect(['cab', 'bca', 'cba', 'xyz', 'abcabc'].map((text) => editDistance('abc', text))).toEqual([2, 2, 2, 3, 3]);
    expect(editDistance('abcd', 'badc')).toBe(2);
  });

  it('is the same in both directions, and 0 for the same text only', () => {
    const word = fc.string({ unit: fc.constantFrom(...'ABC_'), maxLength: 8 });
    fc.assert(
      fc.property(word, word, (one, other) => {
        expect(editDistance(one, other)).toBe(editDistance(other, one));
        expect(editDistance(one, other) === 0).toBe(one === other);
      }),
    );
  });
});
