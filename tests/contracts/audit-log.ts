import { describe, expect, it } from '@jest/globals';
import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';

type RecordedEvent = Parameters<AuditLog['record']>[0];

/** A log, and the events that can be read from it afterwards. */
interface AuditLogFixture {
  readonly auditLog: AuditLog;
  readonly recorded: () => Promise<readonly AuditEvent[]>;
  /** Lets every write fail, and succeed again. */
  readonly setFull: (isFull: boolean) => Promise<void>;
}

const ORIGIN = { request_id: '3f0c4f0e-52f8-4a86-b3e4-0b9a3f1d7c11', remote_address: '192.0.2.1' };
export const ISSUED = {
  event: 'token_issued',
  at: 1_800_000_000,
  client_id: 'a-client',
  token_id: 'dd2f8ac6-8d0a-4b8c-a7c4-2a9ea9d3e8a3',
  scope: 'read write',
  expires_at: 1_800_000_300,
  ...ORIGIN,
} satisfies AuditEvent;
const REFUSED = {
  event: 'token_refused',
  at: 1_800_000_000,
  reason: 'secret_wrong',
  client_id: 'a-client',
  ...ORIGIN,
} satisfies AuditEvent;
const SIGNING = { event: 'key_signing', at: 1_800_000_000, key_id: 'a-key' } satisfies AuditEvent;

/** @param need whether a response waits until its event is recorded. */
export function describeAuditLog(
  name: string,
  need: 'optional' | 'required',
  fresh: () => AuditLogFixture | Promise<AuditLogFixture>,
): void {
  describe(`${name} keeps the promises of an AuditLog that is ${need}`, () => {
    it.each<RecordedEvent>([
      ISSUED,
      REFUSED,
      { event: 'token_refused', at: 1_800_000_000, reason: 'client_unknown', ...ORIGIN },
      { event: 'key_published', at: 1_800_000_000, key_id: 'a-key' },
      SIGNING,
      { event: 'key_retired', at: 1_800_000_000, key_id: 'a-key' },
      { event: 'key_revoked', at: 1_800_000_000, key_id: 'a-key' },
      { event: 'key_restored', at: 1_800_000_000, key_id: 'a-key' },
    ])('keeps every field of $event', async (event) => {
      const { auditLog, recorded } = await fresh();
      await auditLog.record(event);
      expect(await recorded()).toEqual([event]);
    });

    it('keeps the order of events', async () => {
      const { auditLog, recorded } = await fresh();
      const events = [3, 1, 2].map((at) => ({ ...ISSUED, at }));
      await Promise.all(events.map((event) => auditLog.record(event)));
      expect(await recorded()).toEqual(events);
    });

    it('is not affected by changes to an event after it was recorded', async () => {
      const { auditLog, recorded } = await fresh();
      const event = { ...ISSUED };
      const written = auditLog.record(event);
      event.client_id = 'another';
      await written;
      expect(await recorded()).toEqual([ISSUED]);
    });

    if (need === 'optional') {
      it('does not fail while it cannot be written, and goes on afterwards', async () => {
        const { auditLog, recorded, setFull } = await fresh();
        await setFull(true);
        for (const event of [ISSUED, REFUSED, SIGNING]) await auditLog.record(event);
        await setFull(false);
        const next = { ...ISSUED, at: 1_800_000_001 };
        await auditLog.record(next);
        expect((await recorded()).at(-1)).toEqual(next);
      });
      return;
    }

    it.each([ISSUED, REFUSED])('rejects $event while it cannot be written, and goes on afterwards', async (event) => {
      const { auditLog, recorded, setFull } = await fresh();
      await setFull(true);
      for (let time = 0; time < 2; time += 1) {
        await expect(auditLog.record(event)).rejects.toBeInstanceOf(DependencyUnavailable);
      }
      await setFull(false);
      const next = { ...event, at: 1_800_000_001 };
      await auditLog.record(next);
      expect((await recorded()).at(-1)).toEqual(next);
    });

    it('keeps what cannot be taken back until it can be written, in order', async () => {
      const { auditLog, recorded, setFull } = await fresh();
      await setFull(true);
      const unconfirmed = { event: 'change_unconfirmed', at: 1_800_000_000, change_id: 'a-change' } as const;
      const kept = [SIGNING, unconfirmed, { ...SIGNING, event: 'key_retired' } as const];
      for (const event of kept) await auditLog.record(event);
      await setFull(false);
      await auditLog.record(ISSUED);
      expect(await recorded()).toEqual([...kept, ISSUED]);
    });
  });
}
