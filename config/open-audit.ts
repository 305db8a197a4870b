import { openAuditFile } from '../adapters/audit/audit-file.ts';
import type { AuditChange } from '../adapters/audit/audit-outage.ts';
import { AUDIT_BUFFER_BYTES, BufferedAuditLines } from '../adapters/audit/buffered-audit-lines.ts';
import { type AuditLineBase, type AuditLines, auditLine } from '../adapters/audit/json-audit-log.ts';
import { RequiredAuditLines } from '../adapters/audit/required-audit-lines.ts';
import type { LogDestination } from '../adapters/pino/log-destination.ts';
import type { MeasuredLog } from '../adapters/prom-client/process-metrics.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { Settings } from './settings/settings.ts';

/** Where the audit lines of a process go, and what watches them. */
export interface AuditOutput {
  readonly lines: AuditLines;
  readonly measured: MeasuredLog;
  /** None for lines among the log, which has a check of its own. */
  readonly checks: readonly HealthCheck[];
  /** Opens the file again; absent where there is none. Rejects with the reason. */
  readonly reopen?: () => Promise<void>;
  close(): Promise<void>;
}

export interface AuditOutputParts {
  readonly log: LogDestination;
  readonly base: AuditLineBase;
  readonly clock: Clock;
  readonly onChange: (change: AuditChange) => void;
}

/** Opens what the settings say. Throws where AUDIT_FILE cannot be opened. */
export function openAudit(
  { AUDIT_FILE: path, AUDIT_REQUIRED: isRequired }: Pick<Settings, 'AUDIT_FILE' | 'AUDIT_REQUIRED'>,
  { log, base, clock, onChange }: AuditOutputParts,
): AuditOutput {
  if (path === undefined && !isRequired) {
    const measured = {
      get linesLost() {
        return log.auditLinesLost;
      },
      bufferedBytes: 0,
      bufferedBytesMax: AUDIT_BUFFER_BYTES,
    };
    return { lines: log, measured, checks: [], close: async () => {} };
  }
  const lossLine = (count: number) => auditLine({ event: 'audit_lines_lost', at: clock.now(), lines: count }, base);
  const options = { descriptor: path === undefined ? log.descriptor : openAuditFile(path), onChange, lossLine };
  const lines = isRequired ? new RequiredAuditLines(options) : new BufferedAuditLines(options);
  return {
    lines,
    measured: lines,
    checks: [lines],
    ...(path !== undefined && { reopen: () => lines.reopen(path) }),
    close: () => lines.close(),
  };
}
