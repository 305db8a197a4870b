import { expect, it } from '@jest/globals';
import { REASON_EXPLANATIONS } from '../../../adapters/http/status-page/reason-explanations.ts';

/** The reasons whose explanation has a fault. */
const withFault = (isFaulty: (text: string) => boolean) =>
  Object.entries(REASON_EXPLANATIONS).flatMap(([reason, text]) => (isFaulty(text) ? [reason] : []));

it('the explanation of each reason says what it means and what to do, in two or three sentences', () => {
  expect(withFault((text) => !/^[A-Za-z_]/.test(text) || !text.endsWith('.'))).toEqual([]);
  expect(withFault((text) => ![2, 3].includes(text.split(/(?<=\.)\s/).length))).toEqual([]);
});

it('no explanation has what HTML would read, or a backtick without its partner', () => {
  expect(withFault((text) => /[<>&]/.test(text) || text.split('`').length % 2 === 0)).toEqual([]);
});
