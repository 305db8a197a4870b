import { describe, expect, it } from '@jest/globals';
import type { AttackResult, LegitimateResult } from './attack-drivers.ts';
import { attackReport, attackVerdicts } from './attack-report.ts';

const GOOD: LegitimateResult = {
  latenciesMs: [1, 2, 3],
  failures: {},
  latenessMs: [0, 0, 0],
  newClientsMs: [500, 2_000],
  seconds: [],
};
const PASSING: AttackResult = {
  without: GOOD,
  during: GOOD,
  attackers: {
    guesses: { 401: 100, 429: 20 },
    unknown: { 401: 100, 503: 3 },
    garbage: { 400: 99, 429: 1 },
    expensive: { 401: 5 },
    lorises: { 408: 200, none: 3 },
  },
  memory: { before: 100, atTheEnd: 110, highest: 120 },
};

const passed = (result: AttackResult) => attackVerdicts(result).map((verdict) => verdict.passed);

describe('a service under attack', () => {
  it('has four requirements to meet', () => {
    expect(passed(PASSING)).toEqual([true, true, true, true]);
  });

  it.each<[string, number, Partial<AttackResult>]>([
    ['a known client got no token', 0, { during: { ...GOOD, failures: { 503: 1 } } }],
    ['known clients wait', 1, { during: { ...GOOD, latenciesMs: [1, 2, 100] } }],
    ['a new client waits', 2, { during: { ...GOOD, newClientsMs: [1, 2_001] } }],
    ['a new client got no token', 2, { during: { ...GOOD, newClientsMs: [1, null] } }],
    ['there was no new client', 2, { during: { ...GOOD, newClientsMs: [] } }],
    ['a guess caused a fault', 3, { attackers: { ...PASSING.attackers, guesses: { 401: 9, 500: 1 } } }],
    ['a guess was not answered', 3, { attackers: { ...PASSING.attackers, expensive: { none: 1 } } }],
    ['garbage was handled as a guess', 3, { attackers: { ...PASSING.attackers, garbage: { 401: 1 } } }],
  ])('fails if %s', (_, position, changed) => {
    const expected = [true, true, true, true].with(position, false);
    expect(passed({ ...PASSING, ...changed })).toEqual(expected);
  });

  it('is reported with one line per requirement and with the answers to attackers', () => {
    const report = attackReport('Repository: memory', { ...PASSING, during: { ...GOOD, newClientsMs: [null] } });
    expect(report).toContain('- passed: the p99 of known clients is below 100 ms');
    expect(report).toContain('- FAILED: a new client gets its first token within 2 s');
    expect(report).toContain('guesses for known clients 401 × 100, 429 × 20;');
  });
});
