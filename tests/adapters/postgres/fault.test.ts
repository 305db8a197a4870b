import { describe, expect, it } from '@jest/globals';
import { hasState, isSessionLost, loggableFault, SQLSTATE, TableUnusable } from '../../../adapters/postgres/fault.ts';

const response = (code: unknown) => Object.assign(new Error('the value "secret"'), { code, severity: 'ERROR' });

describe('the SQLSTATE of a fault', () => {
  it.each([
    [
      'sessionLost',
      ['08006', '08P01', '57P01', '57P05', '26000', '0A000'],
      ['57014', '42P01', '260001', '10A000', '0A0001', '126000'],
    ],
    ['createdConcurrently', ['42P07', '42710', '23505'], ['42P01', '235051', '142P07']],
    ['creationDenied', ['42501', '3F000'], ['42P01', '3F0001', '142501']],
    ['readOnly', ['25006'], ['25001', '250061', '125006']],
    ['dataException', ['22P02', '22021'], ['42P22', '23505']],
    ['valueRefused', ['22001', '23505'], ['42601', '24000', '122']],
  ] as const)('is %s for these and for no others', (name, states, others) => {
    const has = (code: string) => hasState(response(code), SQLSTATE[name]);
    expect(states.filter(has)).toEqual(states);
    expect(others.filter(has)).toEqual([]);
  });

  it.each([
    ['the network', Object.assign(new Error('refused'), { code: '22P02' })],
    ['the driver', Object.assign(new Error('refused'), { severity: 'ERROR' })],
    ['a server whose code is no text', response(22)],
    ['nothing', undefined],
    ['what is no error', { code: '22P02', severity: 'ERROR' }],
  ])('is none of a fault of %s, which may have cost the session', (_of, fault) => {
    expect(hasState(fault, SQLSTATE.dataException)).toBe(false);
    expect(isSessionLost(fault)).toBe(true);
    expect(loggableFault(fault)).toBe(fault);
  });

  it('tells a lost session from a refused statement', () => {
    expect(isSessionLost(response('57P01'))).toBe(true);
    expect(isSessionLost(response('55P03'))).toBe(false);
  });
});

describe('a fault for the log', () => {
  it('is the fault, unless its message quotes a value; then it has the code alone', () => {
    const locked = response('55P03');
    expect(loggableFault(locked)).toBe(locked);
    const logged = loggableFault(response('22P02'));
    expect(logged).toMatchObject({ message: 'the database refused a value', code: '22P02' });
    expect(String((logged as Error).stack)).not.toContain('secret');
  });

  it('of a table has a name that tells it from others', () => {
    expect(
      String(new TableUnusable({ code: 'column_missing', text: 'table clients lacks scope', fix: 'add it' })),
    ).toBe('TableUnusable: table clients lacks scope: add it');
  });
});
