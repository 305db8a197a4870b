import { describe, expect, it } from '@jest/globals';
import { ValueRefused } from '../../application/ports/client-store.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { problemOf, type Readiness, severityOf, statesOf } from '../../application/ports/health-check.ts';
import { UsedAssertionsFull } from '../../application/ports/used-assertions.ts';
import { SlotsExhausted, verificationFault } from '../../application/ports/verification-slots.ts';
import { fine, note, problem } from '../../domain/finding.ts';
import { inWords, problemIn } from '../../domain/problem.ts';

describe('what the checks of a service say', () => {
  const PROBLEM = { code: 'full', text: 'the disk is full' };
  const WITH_FIX = { ...PROBLEM, fix: 'make room' };

  it.each<[string, Readiness, object, unknown, number]>([
    ['nothing', { ready: true }, { ready: true }, undefined, 0],
    ['a note', { ready: true, note: PROBLEM }, { ready: true, note: PROBLEM.text }, PROBLEM, 1],
    [
      'a note with a fix',
      { ready: true, note: WITH_FIX },
      { ready: true, note: PROBLEM.text, fix: 'make room' },
      WITH_FIX,
      1,
    ],
    ['what is in the way', { ready: false, reason: PROBLEM }, { ready: false, reason: PROBLEM.text }, PROBLEM, 2],
    [
      'what is in the way, and its fix',
      { ready: false, reason: WITH_FIX },
      { ready: false, reason: PROBLEM.text, fix: 'make room' },
      WITH_FIX,
      2,
    ],
  ])('%s', (_what, readiness, state, problem, severity) => {
    expect(statesOf([{ name: 'audit log', readiness: () => readiness }])).toStrictEqual([
      { name: 'audit log', ...state },
    ]);
    expect([problemOf(readiness), severityOf(readiness)]).toEqual([problem, severity]);
  });

  it('is one line where it is printed', () => {
    expect([PROBLEM, WITH_FIX].map(inWords)).toEqual(['the disk is full', 'the disk is full: make room']);
  });

  it('is what a fault carries, if it carries a problem', () => {
    expect(problemIn(Object.assign(new Error('full'), { problem: PROBLEM }))).toBe(PROBLEM);
    expect([new Error('full'), undefined, null, 'full'].map(problemIn)).toEqual(Array(4).fill(undefined));
  });
});

describe('what a check finds', () => {
  it('is fine, worth knowing or in the way, with what to do about it', () => {
    expect([fine('a'), note('b', 'do'), problem('c', undefined)]).toEqual([
      { state: 'ok', text: 'a' },
      { state: 'note', text: 'b', fix: 'do' },
      { state: 'problem', text: 'c', fix: undefined },
    ]);
  });
});

describe('faults of what the service depends on', () => {
  const cause = new Error('the reason');

  it.each<[Error, object]>([
    [new DependencyUnavailable('audit log', cause), { name: 'DependencyUnavailable', dependency: 'audit log', cause }],
    [verificationFault('the reason'), { name: 'DependencyUnavailable', dependency: 'secret verification', cause }],
    [
      verificationFault('the reason', 'assertion verification'),
      { name: 'DependencyUnavailable', dependency: 'assertion verification', cause },
    ],
    [new SlotsExhausted('the reason'), { name: 'SlotsExhausted', dependency: 'secret verification', cause }],
    [new UsedAssertionsFull('full'), { name: 'UsedAssertionsFull', dependency: 'used assertions' }],
  ])('have a name, and say in the log what is unavailable and why: %s', (fault, more) => {
    expect(fault).toBeInstanceOf(DependencyUnavailable);
    expect(fault).toMatchObject(more);
    expect(fault.message).toMatch(/^(audit log|(secret|assertion) verification|used assertions) unavailable$/);
  });

  it('are another one where the storage refuses a value: trying again is in vain', () => {
    const fault = new ValueRefused(cause);
    expect(fault).not.toBeInstanceOf(DependencyUnavailable);
    expect(fault).toMatchObject({ name: 'ValueRefused', message: 'the client store refuses a value', cause });
  });
});
