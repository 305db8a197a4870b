import type { AuditEvent, AuditLog } from '../../application/ports/audit-log.ts';
import { printableJsonText } from '../../domain/unprintable.ts';
import type { Lines } from './line-writer.ts';

/** A longer scope ends with `…`, which no scope contains: a line over 4,096 bytes would mix with others. */
const SCOPE_MAX = 2_000;

const DONE = Promise.resolve();

interface JsonAuditLogOptions {
  /** Whether a token may be issued only if its line is written. */
  readonly isRequired: boolean;
  /** Called for each line that is not written. */
  readonly onLost?: () => void;
}

/** Writes each event as one line of JSON. `"log":"audit"`, which comes first, tells it from other lines. */
export function jsonAuditLog(
  lines: Pick<Lines, 'write' | 'writeRequired'>,
  { isRequired, onLost = () => {} }: JsonAuditLogOptions,
): AuditLog {
  return {
    record(event) {
      const line = auditLine(event);
      // Nobody can take back what these are about: nothing waits for their lines.
      const isFact = 'key_id' in event || event.event === 'change_unconfirmed';
      if (isRequired && !isFact) {
        // A flood of refusals must not keep a slow disk or reader from the lines of tokens.
        const among = event.event.endsWith('_refused') ? 'others' : 'required';
        return lines.writeRequired(line, among).catch((fault) => {
          onLost();
          throw fault;
        });
      }
      if (!lines.write(line, isRequired ? 'required' : 'others')) onLost();
      return DONE;
    },
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
  return `${printableJsonText(line)}\n`;
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
