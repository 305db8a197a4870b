import { existsSync, readFileSync } from 'node:fs';
import type { AuditEvent } from '../../application/ports/audit-log.ts';

/** One line of an audit file. */
export type AuditLine = Readonly<Record<string, unknown>> & { readonly event: string };

/**
 * The audit lines of a text. The rest is lines of the request log, empty, or cut by a fault, perhaps right before a
 * whole line.
 */
export function auditLinesIn(text: string): readonly AuditLine[] {
  return text.split(/\n|(?=\{"log":"audit",)/).flatMap((line) => {
    try {
      const parsed = JSON.parse(line);
      return parsed.log === 'audit' ? [parsed] : [];
    } catch {
      return [];
    }
  });
}

export function readAuditFile(path: string): readonly AuditLine[] {
  return existsSync(path) ? auditLinesIn(readFileSync(path, 'utf8')) : [];
}

/** The requests that have a line with this event. */
export function requestIdsOf(lines: readonly AuditLine[], event: string): ReadonlySet<unknown> {
  return new Set(lines.filter((line) => line.event === event).map((line) => line['request_id']));
}

/** The event behind a line. */
export function eventOf({ log: _log, level: _level, time: _time, ...event }: AuditLine): AuditEvent {
  return event as unknown as AuditEvent;
}
