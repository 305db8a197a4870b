import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';
import { printableJsonText } from '../../domain/unprintable.ts';

/** A longer scope is cut, and then ends with `…`, which no scope contains: a line over 4,096 bytes would mix with others. */
const SCOPE_MAX = 2_000;

const ONLY_ASCII = /^[\x20-\x7e]*$/;

/** Where audit lines are written, each with its line feed. */
export interface AuditLines {
  /** As AuditLog.record says of the event of a token. */
  write(line: string): Promise<void>;
  /** For a line about what nobody can take back. Never rejects; the line waits for the end of a fault. */
  keep(line: string): Promise<void>;
}

/** Writes each event as one line of JSON. The field `"log":"audit"`, which comes first, tells it from lines of the request log. */
export function jsonAuditLog(lines: AuditLines): AuditLog {
  return {
    record: (event) => lines['key_id' in event ? 'keep' : 'write'](auditLine(event)),
  };
}

/**
 * The line of an event, as docs/audit.schema.json describes it. Nothing in it can end the line or start another one.
 * @param base fields of every line of a program.
 */
export function auditLine(event: AuditEvent | LostLines, base: object = {}): string {
  const time = new Date().toISOString();
  const scope = 'scope' in event && event.scope.length > SCOPE_MAX && `${event.scope.slice(0, SCOPE_MAX)}…`;
  const line = JSON.stringify({
    log: 'audit',
    level: levelOf(event),
    time,
    ...base,
    ...event,
    ...(scope && { scope }),
  });
  return `${ONLY_ASCII.test(line) ? line : printableJsonText(line)}\n`;
}

/** So many lines are missing before this one, because they could not be written. */
export interface LostLines {
  readonly event: 'audit_lines_lost';
  readonly at: number;
  /**
   * So many lines of this process are missing before this one.
   * @minimum 1
   */
  readonly lines: number;
}

function levelOf({ event }: AuditEvent | LostLines): 'info' | 'warn' | 'error' {
  if (event === 'key_revoked') return 'error';
  return event === 'audit_lines_lost' || event === 'change_unconfirmed' ? 'warn' : 'info';
}
