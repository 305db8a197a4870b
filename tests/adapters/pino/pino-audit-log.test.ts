import { Writable } from 'node:stream';
import { createJsonLog } from '../../../adapters/pino/json-log.ts';
import { PinoAuditLog } from '../../../adapters/pino/pino-audit-log.ts';
import type { AuditEvent } from '../../../application/ports/audit-log.ts';
import { describeAuditLog } from '../../contracts/audit-log.ts';
import { InMemoryAuditLog } from '../../support/in-memory-audit-log.ts';

const MEMBERS: Record<string, string> = {
  client_id: 'clientId',
  token_id: 'tokenId',
  expires_at: 'expiresAt',
  key_id: 'keyId',
};

/** The event in a line of the log. */
function eventOf(line: string): AuditEvent {
  const { level: _level, time: _time, ...event } = JSON.parse(line);
  return Object.fromEntries(
    Object.entries(event).map(([member, value]) => [MEMBERS[member] ?? member, value]),
  ) as unknown as AuditEvent;
}

describeAuditLog('PinoAuditLog', () => {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return { auditLog: new PinoAuditLog(createJsonLog(destination)), recorded: () => lines.map(eventOf) };
});

describeAuditLog('InMemoryAuditLog', () => {
  const auditLog = new InMemoryAuditLog();
  return { auditLog, recorded: () => auditLog.events() };
});
