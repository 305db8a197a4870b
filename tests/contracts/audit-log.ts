import { describe, expect, it } from '@jest/globals';
import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';

/** A log, and the events that can be read from it afterwards. */
export interface AuditLogFixture {
  readonly auditLog: AuditLog;
  readonly recorded: () => readonly AuditEvent[];
}

const ISSUED = {
  event: 'token_issued',
  at: 1_800_000_000,
  clientId: 'a-client',
  tokenId: 'dd2f8ac6-8d0a-4b8c-a7c4-2a9ea9d3e8a3',
  scope: 'read write',
  expiresAt: 1_800_000_300,
} satisfies AuditEvent;

export function describeAuditLog(name: string, fresh: () => AuditLogFixture): void {
  describe(`${name} keeps the promises of AuditLog`, () => {
    it.each<AuditEvent>([
      ISSUED,
      { event: 'token_refused', at: 1_800_000_000, reason: 'secret_wrong', clientId: 'a-client' },
      { event: 'token_refused', at: 1_800_000_000, reason: 'client_unknown' },
      { event: 'key_published', at: 1_800_000_000, keyId: 'a-key' },
      { event: 'key_signing', at: 1_800_000_000, keyId: 'a-key' },
      { event: 'key_retired', at: 1_800_000_000, keyId: 'a-key' },
    ])('keeps every member of $event', (event) => {
      const { auditLog, recorded } = fresh();
      auditLog.record(event);
      expect(recorded()).toEqual([event]);
    });

    it('keeps the order of events', () => {
      const { auditLog, recorded } = fresh();
      const events = [3, 1, 2].map((at) => ({ ...ISSUED, at }));
      for (const event of events) auditLog.record(event);
      expect(recorded()).toEqual(events);
    });

    it('is not affected by changes to an event after it was recorded', () => {
      const { auditLog, recorded } = fresh();
      const event = { ...ISSUED };
      auditLog.record(event);
      event.clientId = 'another';
      expect(recorded()).toEqual([ISSUED]);
    });
  });
}
