import { describe, expect, it } from '@jest/globals';
import { type StrongResult, strongReport, strongVerdicts } from './strong-report.ts';

const CLIENTS = {
  latenciesMs: [1, 2, 3],
  failures: {},
  latenessMs: [0, 0, 0],
  newClientsMs: [500, 3_000],
  seconds: [],
};
const FLOOD = { flood: 'guesses, 500 x 15', clients: CLIENTS, answers: { 401: 100, 503: 3 } } as const;
const FORGED = { flood: 'forged assertions, 100', clients: CLIENTS, answers: { 401: 100, 503: 3 } } as const;
const PASSING: StrongResult = {
  floods: [FLOOD],
  assertionFloods: [FORGED],
  lockOutMs: 5_000,
  hiddenGuess: { status: 429, milliseconds: 12 },
};

const passed = (result: StrongResult) => strongVerdicts(result).map((verdict) => verdict.passed);

describe('a service under strong attacks', () => {
  it('has five requirements to meet', () => {
    expect(passed(PASSING)).toEqual([true, true, true, true, true]);
  });

  it.each<[string, number, Partial<StrongResult>]>([
    ['a newcomer waits', 0, { floods: [{ ...FLOOD, clients: { ...CLIENTS, newClientsMs: [1, 3_001] } }] }],
    ['a newcomer gets no token', 0, { floods: [{ ...FLOOD, clients: { ...CLIENTS, newClientsMs: [1, null] } }] }],
    ['known clients wait', 1, { floods: [{ ...FLOOD, clients: { ...CLIENTS, latenciesMs: [1, 100] } }] }],
    ['an owner waits', 2, { lockOutMs: 5_001 }],
    ['an owner is locked out', 2, { lockOutMs: null }],
    [
      'a signing client waits',
      3,
      { assertionFloods: [FORGED, { ...FORGED, clients: { ...CLIENTS, newClientsMs: [3_001] } }] },
    ],
    [
      'known clients wait beside forged assertions',
      4,
      { assertionFloods: [{ ...FORGED, clients: { ...CLIENTS, latenciesMs: [100] } }] },
    ],
  ])('fails if %s', (_, position, changed) => {
    expect(passed({ ...PASSING, ...changed })).toEqual([true, true, true, true, true].with(position, false));
  });

  it('is reported with one row per flood and one line per requirement', () => {
    const report = strongReport({ ...PASSING, lockOutMs: null });
    expect(report).toMatch(/^\| guesses, 500 x 15 +\| +2 of 2 \| +3\.00 s \| +3\.0 ms \| +100\.00 % \|/m);
    expect(report).toContain('its owner has a token not at all.');
    expect(report).toContain('the right secret behind them: 429 after 12 ms.');
    expect(report).toContain('- FAILED: the owner of a guessed id gets a token within 5 s after the burst');
  });
});
