import { describe, expect, it } from '@jest/globals';
import { attackVerdicts } from './attack.ts';
import { type MemoryResult, memoryVerdicts } from './memory.ts';
import type { FloodResult, LegitimateResult } from './programs.ts';
import { type StrongResult, strongVerdicts } from './strong.ts';

const CLIENTS: LegitimateResult = { latenciesMs: [1, 2, 3], failures: {}, latenessMs: [0], newClientsMs: [500, 2_000] };

describe('a service under attack', () => {
  const flood = (name: FloodResult['name'], answers: FloodResult['answers'], unanswered = 0): FloodResult => {
    return { name, answers, unanswered };
  };
  const FLOODS = [
    flood('unknown clients', { 401: 100, 503: 3, closed: 1 }),
    flood('garbage', { 400: 99, 429: 1 }),
    flood('slow header senders', { 408: 200, closed: 3 }, 3),
  ];

  it.each<[string, readonly boolean[], Partial<LegitimateResult>, FloodResult?]>([
    ['is as required', [true, true, true, true], {}],
    ['gives a known client no token', [false, true, true, true], { failures: { 503: 1 } }],
    ['lets known clients wait', [true, false, true, true], { latenciesMs: [1, 2, 100] }],
    ['lets a new client wait', [true, true, false, true], { newClientsMs: [1, 2_001] }],
    ['gives a new client no token', [true, true, false, true], { newClientsMs: [1, null] }],
    ['meets no new client', [true, true, false, true], { newClientsMs: [] }],
    ['fails at a guess', [true, true, true, false], {}, flood('guesses for known clients', { 401: 9, 500: 1 })],
    ['does not answer a guess', [true, true, true, false], {}, flood('guesses at cost 14', { closed: 1 }, 1)],
    ['takes garbage for a guess', [true, true, true, false], {}, flood('garbage', { 401: 1 })],
  ])('%s', (_, expected, changed, more = flood('guesses for known clients', { 401: 100, 429: 20 })) => {
    const verdicts = attackVerdicts({ ...CLIENTS, ...changed }, [...FLOODS, more]);
    expect(verdicts.map(({ passed }) => passed)).toEqual(expected);
  });
});

describe('a service under strong attacks', () => {
  const flooded = (changed: Partial<LegitimateResult> = {}) => {
    return { flood: 'guesses, 500 x 15', clients: { ...CLIENTS, ...changed }, answers: {} } as const;
  };
  const PASSING: StrongResult = {
    floods: [flooded(), flooded({ newClientsMs: [null] })],
    assertionFloods: [flooded()],
    lockOutMs: 5_000,
  };

  it.each<[string, number, Partial<StrongResult>]>([
    ['is as required', -1, {}],
    ['lets a newcomer wait', 0, { floods: [flooded({ newClientsMs: [1, 3_001] })] }],
    ['gives a newcomer no token', 0, { floods: [flooded({ newClientsMs: [1, null] })] }],
    ['lets known clients wait', 1, { floods: [flooded({ latenciesMs: [1, 100] })] }],
    ['lets an owner wait', 4, { lockOutMs: 5_001 }],
    ['lets a signing client wait', 2, { assertionFloods: [flooded(), flooded({ newClientsMs: [3_001] })] }],
    ['lets known clients wait beside forgeries', 3, { assertionFloods: [flooded({ latenciesMs: [100] })] }],
  ])('%s', (_, failed, changed) => {
    const verdicts = strongVerdicts({ ...PASSING, ...changed }).map(({ passed }) => passed);
    expect(verdicts).toEqual([0, 1, 2, 3, 4].map((position) => position !== failed));
  });
});

describe('the memory of a service under attack', () => {
  const IDLE: MemoryResult = {
    flood: 'idle connections, 2,000',
    ...{ idleMb: 200, highestMb: 245, atTheEndMb: 240, groupPeakMb: 260, processesKept: true, answers: { 401: 2_000 } },
    clients: CLIENTS,
  };

  it.each<[string, readonly boolean[], Partial<MemoryResult>]>([
    ['stays below 320 MB', [true, true], {}],
    ['has a peak of 320 MB', [false, true], { highestMb: 320 }],
    ['could not be measured', [false, true], { highestMb: Number.NaN }],
    ['ended a process', [true, false], { processesKept: false }],
  ])('%s', (_, expected, changed) => {
    expect(memoryVerdicts([IDLE, { ...IDLE, ...changed }]).map(({ passed }) => passed)).toEqual(expected);
  });
});
