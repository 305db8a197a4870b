import { expect, it } from '@jest/globals';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { revocationEvents } from '../../../application/keys-program/revocation-events.ts';
import { RecordChanges } from '../../../application/record-changes.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { InMemoryChangeLog } from '../../support/in-memory-audit-log.ts';

it('records who revoked which key, and which revocation was not confirmed', () => {
  const [changeLog, clock] = [new InMemoryChangeLog(), new FixedClock()];
  const recorder = new RecordChanges({ changeLog, clock, ids: new RandomIdGenerator() }, revocationEvents);
  const key = { algorithm: 'RS256', publishedAt: 5, revokedAt: undefined };
  recorder.record({ ...key, kid: 'a', trustedUntil: 7, replica: 'r' }, 'operator');
  recorder.record({ ...key, kid: 'b', trustedUntil: undefined, replica: undefined }, undefined);
  recorder.unconfirmed();
  const [first, second, last] = changeLog.events();
  const at = clock.now();
  const revoked = { event: 'directory_key_revoked', at, change_id: expect.stringMatching(/^[\da-f-]{36}$/) };
  expect(first).toEqual({ ...revoked, key_id: 'a', replica: 'r', trusted_until: 7, database_role: 'operator' });
  expect(second).toEqual({ ...revoked, key_id: 'b' });
  expect(last).toEqual({ event: 'change_unconfirmed', at, change_id: Object(second).change_id });
  expect(Object(first).change_id).not.toBe(Object(second).change_id);
});
