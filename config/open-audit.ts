import { openAuditFile, openAuditFileAgain } from '../adapters/log/audit-file.ts';
import { auditLine, jsonAuditLog } from '../adapters/log/json-audit-log.ts';
import { type AuditChange, type Lines, LineWriter } from '../adapters/log/line-writer.ts';
import type { AuditLog } from '../application/ports/audit-log.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { LogLoad } from '../application/ports/telemetry.ts';
import type { Settings } from './settings/settings.ts';

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

interface AuditOutputParts {
  readonly log: Lines;
  readonly clock: Clock;
  readonly onChange: (change: AuditChange) => void;
}

const DONE = Promise.resolve();

/** Opens what the settings say. Throws where AUDIT_FILE cannot be opened. */
export function openAudit(
  { AUDIT_FILE: path, AUDIT_REQUIRED: isRequired }: Pick<Settings, 'AUDIT_FILE' | 'AUDIT_REQUIRED'>,
  { log, clock, onChange }: AuditOutputParts,
): AuditOutput {
  const lossLine = (lines: number) => auditLine({ event: 'audit_lines_lost', at: clock.now(), lines });
  if (path === undefined) {
    // In the order of the log's lines. Their loss is reported with that of others.
    const measured = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: log.bufferedBytesMax };
    const onLost = () => {
      measured.linesLost += 1;
    };
    const checks = isRequired ? [checkOfRequired(log)] : [];
    return { auditLog: jsonAuditLog(log, { isRequired, onLost }), measured, checks, close: async () => {} };
  }
  const file = new LineWriter({ name: 'audit log', descriptor: openAuditFile(path), lossLine, onChange });
  let reopened = DONE;
  return {
    auditLog: jsonAuditLog(file, { isRequired }),
    measured: file,
    checks: [isRequired ? checkOfRequired(file) : file],
    reopen() {
      // One after the other, so that the last one counts. Who called the one before has its fault.
      reopened = reopened.catch(() => {}).then(async () => file.reopen(await openAuditFileAgain(path)));
      return reopened;
    },
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
      const fix = 'make room on the disk, or repair what reads the lines; no restart is needed';
      return { ready: false, reason: { code, text: `audit lines cannot be written: ${code}`, fix } };
    },
  };
}
