import { expect, it } from '@jest/globals';
import { CURES } from '../../adapters/postgres/fault-cures.ts';
import { cureOf } from '../../config/capabilities/status-page/check-cures.ts';

it.each([
  ['client repository', 'database unavailable (ECONNREFUSED)', CURES['ECONNREFUSED']?.[1]],
  ['key directory', 'database unavailable (55P03)', CURES['55P03']?.[1]],
  ['client repository', 'table clients lacks the column scope', 'npm run doctor names the fault and its cure'],
  ['service', 'stopping', 'wait until it is ready or has ended'],
])('says about %s (%s) what the doctor says', (name, reason, cure) => {
  expect(cureOf({ name, ready: false, reason })).toBe(cure);
  expect(cure).toMatch(/./);
});

it('says what to do about a note too', () => {
  expect(cureOf({ name: 'used assertions', ready: true, note: 'database unavailable (ECONNREFUSED)' })).toMatch(
    /PostgreSQL/,
  );
  expect(cureOf({ name: 'log', ready: true, note: 'log lines are lost: ENOSPC' })).toMatch(/operations/);
});
