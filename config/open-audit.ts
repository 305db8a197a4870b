import { openAuditFile } from '../adapters/log/audit-file.ts';
import { type AuditLines, auditLine } from '../adapters/log/json-audit-log.ts';
import type { LineBase } from '../adapters/log/json-log.ts';
import { type AuditChange, BUFFER_BYTES, LineWriter } from '../adapters/log/line-writer.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { HealthCheck } from '../application/ports/health-check.ts';
import type { LogLoad } from '../application/ports/telemetry.ts';
import type { Settings } from './settings/settings.ts';

/** Where the audit lines of a process go, and what watches them. */
export interface AuditOutput {
  readonly lines: AuditLines;
  readonly measured: LogLoad;
  /** None for lines among the log, which has a check of its own. */
  readonly checks: readonly HealthCheck[];
  /** Opens the file again; absent where there is none. Rejects with the reason. */
  readonly reopen?: () => Promise<void>;
  close(): Promise<void>;
}

interface AuditOutputParts {
  readonly log: LineWriter;
  readonly base: LineBase;
  readonly clock: Clock;
  readonly onChange: (change: AuditChange) => void;
}

/** Opens what the settings say. Throws where AUDIT_FILE cannot be opened. */
export function openAudit(
  { AUDIT_FILE: path, AUDIT_REQUIRED: isRequired }: Pick<Settings, 'AUDIT_FILE' | 'AUDIT_REQUIRED'>,
  { log, base, clock, onChange }: AuditOutputParts,
): AuditOutput {
  if (path === undefined && !isRequired) {
    const measured = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: BUFFER_BYTES.drop };
    const write = (line: string) => {
      if (!log.write(line)) measured.linesLost += 1;
    };
    return { lines: { write }, measured, checks: [], close: async () => {} };
  }
  const lines = new LineWriter({
    policy: isRequired ? 'throw' : 'drop',
    kind: 'audit',
    descriptor: path === undefined ? log.descriptor : openAuditFile(path),
    lossLine: (count) => auditLine({ event: 'audit_lines_lost', at: clock.now(), lines: count }, base),
    onChange,
  });
  return {
    lines,
    measured: lines,
    checks: [lines],
    ...(path !== undefined && { reopen: () => lines.reopen(() => openAuditFile(path)) }),
    close: () => lines.close(),
  };
}
