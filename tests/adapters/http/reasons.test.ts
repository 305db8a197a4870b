import { expect, it } from '@jest/globals';
import { ALL_REASONS } from '../../../adapters/http/server/http-refusal.ts';

/** The reasons whose meaning has a fault. */
const withFault = (isFaulty: (text: string) => boolean) =>
  Object.entries(ALL_REASONS).flatMap(([reason, { meaning }]) => (isFaulty(meaning) ? [reason] : []));

it('the meaning of each reason says what it means and what to do, in two or three sentences', () => {
  expect(withFault((text) => !/^[A-Za-z_]/.test(text) || !text.endsWith('.'))).toEqual([]);
  expect(withFault((text) => ![2, 3].includes(text.split(/(?<=\.)\s/).length))).toEqual([]);
});

it('no meaning has what HTML would read, or a backtick without its partner', () => {
  expect(withFault((text) => /[<>&]/.test(text) || text.split('`').length % 2 === 0)).toEqual([]);
});
