import type { AuditLog } from '../../application/ports/audit-log.ts';
import type { ChangeLog } from '../../application/ports/change-log.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck } from '../../application/ports/health-check.ts';
import type { LogLoad } from '../../application/ports/telemetry.ts';
import { openAuditFile, openAuditFileAgain } from './audit-file.ts';
import { auditLine, jsonAuditLog } from './json-audit-log.ts';
import { type AuditChange, FIX, type Lines, LineWriter } from './line-writer.ts';
import { codeOf } from './write-now.ts';

/** The audit log of a service, and what watches it. */
export interface AuditOutput {
  readonly auditLog: AuditLog;
  readonly measured: LogLoad;
  /** None for lines that may be lost among the log, which has its own check. */
  readonly checks: readonly HealthCheck[];
  /** Opens the file again; absent where there is none. Rejects with the reason. */
  readonly reopen?: () => Promise<void>;
  close(): Promise<void>;
}

interface AuditDestination {
  /** Of AUDIT_FILE. Without it, the lines go among the log's. */
  readonly path: string | undefined;
  /** Of AUDIT_REQUIRED: no token is issued without its line. */
  readonly isRequired: boolean;
}

interface AuditOutputParts {
  readonly log: Lines;
  readonly clock: Clock;
  readonly onChange: (change: AuditChange) => void;
}

/** Throws if the file cannot be opened. */
export function openAudit(
  { path, isRequired }: AuditDestination,
  { log, clock, onChange }: AuditOutputParts,
): AuditOutput {
  if (path === undefined) {
    // In the order of the log's lines. Their loss is reported with that of others.
    const measured = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: log.bufferedBytesMax };
    const onLost = () => {
      measured.linesLost += 1;
    };
    const checks = isRequired ? [checkOfRequired(log)] : [];
    return { auditLog: jsonAuditLog(log, { isRequired, onLost }), measured, checks, close: async () => {} };
  }
  const file = new LineWriter({
    name: 'audit log',
    descriptor: openAuditFile(path),
    openAgain: () => openAuditFileAgain(path),
    lossLine: (lines) => auditLine({ event: 'audit_lines_lost', at: clock.now(), lines }),
    onChange,
  });
  return {
    auditLog: jsonAuditLog(file, { isRequired }),
    measured: file,
    checks: [isRequired ? checkOfRequired(file) : file],
    reopen: () => file.reopen(),
    close: () => file.close(),
  };
}

/** No token is issued without these lines. */
function checkOfRequired(lines: Lines): HealthCheck {
  return {
    name: 'audit log',
    readiness: () => {
      const code = lines.faultCode;
      if (code === undefined) return { ready: true };
      return { ready: false, reason: { code, text: `audit lines cannot be written: ${code}`, fix: FIX } };
    },
  };
}

interface ProgramChangeLogOptions extends AuditDestination {
  /** Where the lines go without a file. */
  readonly standardError: number;
  /** Fields of every line. */
  readonly base: object;
  readonly clock: Clock;
  /** Called with the reason, once for a change of which lines could not be written, and are optional. */
  readonly onLost: (reason: string) => void;
}

/** The audit lines of a program that runs once. Read-only commands open nothing. */
export function programChangeLog(options: ProgramChangeLogOptions): ChangeLog {
  const { path, standardError, isRequired, base, clock, onLost } = options;
  const open = () =>
    new LineWriter({
      name: 'audit log',
      descriptor: path === undefined ? standardError : openAuditFile(path),
      lossLine: (lines) => auditLine({ event: 'audit_lines_lost', at: clock.now(), lines }, base),
    });
  let file: LineWriter | undefined;
  let lostOf: string | undefined;
  return {
    async record(event) {
      const line = auditLine(event, base);
      if (event.event === 'change_unconfirmed') {
        file?.write(line, 'required');
        return;
      }
      try {
        file ??= open();
        await file.writeRequired(line);
      } catch (fault) {
        const cause = fault instanceof DependencyUnavailable ? fault.cause : fault;
        if (isRequired) throw new DependencyUnavailable('audit log', cause);
        if (lostOf !== event.change_id) onLost(cause instanceof Error ? cause.message : codeOf(cause));
        lostOf = event.change_id;
      }
    },
  };
}
