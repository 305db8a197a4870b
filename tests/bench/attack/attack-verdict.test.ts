import { describe, expect, it } from '@jest/globals';
import type { AttackResult } from './attack.ts';
import { attackReport } from './attack-report.ts';
import { attackVerdicts } from './attack-verdict.ts';
import type { GoodClientResult } from './good-client-job.ts';

const GOOD: GoodClientResult = {
  latenciesMs: [1, 2, 3],
  failures: {},
  latenessMs: [0, 0, 0],
  unseenMs: [500, 2_000],
};
const HELD: AttackResult = {
  without: GOOD,
  during: GOOD,
  attackers: {
    guesses: { 401: 100, 429: 20 },
    unknown: { 401: 100, 503: 3 },
    garbage: { 400: 99, 429: 1 },
    dear: { 401: 5 },
    lorises: { 408: 200, none: 3 },
  },
  memory: { before: 100, atTheEnd: 110, highest: 120 },
};

const holding = (result: AttackResult) => attackVerdicts(result).map(({ holds }) => holds);

describe('a service under attack', () => {
  it('is held to four things', () => {
    expect(holding(HELD)).toEqual([true, true, true, true]);
  });

  it.each<[string, number, Partial<AttackResult>]>([
    ['a client that was seen before got no token', 0, { during: { ...GOOD, failures: { 503: 1 } } }],
    ['clients wait', 1, { during: { ...GOOD, latenciesMs: [1, 2, 100] } }],
    ['a new client waits', 2, { during: { ...GOOD, unseenMs: [1, 2_001] } }],
    ['a new client got nothing', 2, { during: { ...GOOD, unseenMs: [1, null] } }],
    ['no new client could be watched', 2, { during: { ...GOOD, unseenMs: [] } }],
    ['a guess met a fault', 3, { attackers: { ...HELD.attackers, guesses: { 401: 9, 500: 1 } } }],
    ['a guess was not answered', 3, { attackers: { ...HELD.attackers, dear: { none: 1 } } }],
    ['garbage was taken for a guess', 3, { attackers: { ...HELD.attackers, garbage: { 401: 1 } } }],
  ])('does not hold where %s', (_, position, changed) => {
    const expected = [true, true, true, true].with(position, false);
    expect(holding({ ...HELD, ...changed })).toEqual(expected);
  });

  it('is reported with a line for each, and with what attackers were answered', () => {
    const report = attackReport('Repository: memory', { ...HELD, during: { ...GOOD, unseenMs: [null] } });
    expect(report).toContain('- holds: their p99 is below 100 ms');
    expect(report).toContain('- does not hold: a client that was not seen before has its token within 2 s');
    expect(report).toContain('guesses for known clients 401 × 100, 429 × 20;');
  });
});
