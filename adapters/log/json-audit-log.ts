import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';
import { printableJsonText } from '../../domain/unprintable.ts';
import type { LineBase } from './json-log.ts';

/** A longer scope is cut, and then ends with `…`, which no scope contains: a line over 4,096 bytes would mix with others. */
const SCOPE_MAX = 2_000;

const ONLY_ASCII = /^[\x20-\x7e]*$/;

/** What nobody can take back. */
const DONE_ALREADY: ReadonlySet<AuditEvent['event']> = new Set([
  'key_published',
  'key_signing',
  'key_retired',
  'key_revoked',
  'change_unconfirmed',
]);

/** Where audit lines are written. */
export interface AuditLines {
  /**
   * Takes a line with its end. `before_answer`: throws DependencyUnavailable if lines are required and it could not be
   * written. `soon`: never throws.
   */
  write(line: string, need: 'before_answer' | 'soon'): unknown;
}

/** Writes each event as one line of JSON. The member `"log":"audit"`, which comes first, tells it from lines of the request log. */
export function jsonAuditLog(lines: AuditLines, base: LineBase = {}): AuditLog {
  return {
    record: (event) => {
      lines.write(auditLine(event, base), DONE_ALREADY.has(event.event) ? 'soon' : 'before_answer');
    },
  };
}

/** The line of an event, as docs/audit.schema.json describes it. Nothing in it can end the line or start another one. */
export function auditLine(event: AuditEvent | LostLines, base: LineBase): string {
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
