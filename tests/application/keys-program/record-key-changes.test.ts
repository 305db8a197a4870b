import { expect, it } from '@jest/globals';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { RecordKeyChanges } from '../../../application/keys-program/record-key-changes.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';

it('records who revoked which key, and which revocation was not confirmed', () => {
  const [auditLog, clock] = [new InMemoryAuditLog(), new FixedClock()];
  const recorder = new RecordKeyChanges({ auditLog, clock, ids: new RandomIdGenerator() });
  const key = { publishedAt: 5, revokedAt: undefined };
  recorder.record({ ...key, kid: 'a', trustedUntil: 7, replica: 'r' }, 'operator');
  recorder.record({ ...key, kid: 'b', trustedUntil: undefined, replica: undefined }, undefined);
  recorder.unconfirmed();
  const [first, second, last] = auditLog.events();
  const at = clock.now();
  const revoked = { event: 'directory_key_revoked', at, changeId: expect.stringMatching(/^[\da-f-]{36}$/) };
  expect(first).toEqual({ ...revoked, keyId: 'a', trustedUntil: 7, replica: 'r', databaseRole: 'operator' });
  expect(second).toEqual({ ...revoked, keyId: 'b' });
  expect(last).toEqual({ event: 'change_unconfirmed', at, changeId: Object(second).changeId });
  expect(Object(first).changeId).not.toBe(Object(second).changeId);
});
