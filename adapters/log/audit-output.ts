import { PeriodicTask } from '../../application/periodic-task.ts';
import type { AuditLog } from '../../application/ports/audit-log.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { HealthCheck } from '../../application/ports/health-check.ts';
import type { LogLoad } from '../../application/ports/telemetry.ts';
import { openAuditFile, openAuditFileAgain } from './audit-file.ts';
import { auditLine, jsonAuditLog } from './json-audit-log.ts';
import { type AuditChange, type Lines, LineWriter } from './line-writer.ts';

/** The audit log of a service, and what watches it. */
export interface AuditOutput {
  readonly auditLog: AuditLog;
  readonly measured: LogLoad;
  /** None for lines that may be lost among the log, which has its own check. */
  readonly checks: readonly HealthCheck[];
  /** Opens the file again; absent where there is none. Rejects with the reason. */
  readonly reopen?: () => Promise<void>;
  /** Looks again and again whether the file was deleted. */
  readonly watch?: () => Promise<void>;
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

const DONE = Promise.resolve();

/** How often it is looked whether the file was deleted, in milliseconds: meanwhile, lines are lost. */
const WATCH_MS = 2_000;

/** Throws if the file cannot be opened. */
export function openAudit(
  { path, isRequired }: AuditDestination,
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
  /** Why a deleted file could not be made again. */
  let recreateFault: Error | undefined;
  const reopen = (isDeleted = false) => {
    // One after the other, so that the last one counts. Who called the one before has its fault.
    reopened = reopened
      .catch(() => {})
      .then(async () => file.reopen(await openAuditFileAgain(path), isDeleted))
      .then(() => {
        recreateFault = undefined;
      });
    return reopened;
  };
  const watch = new PeriodicTask(async () => {
    try {
      if (await file.isDeleted()) {
        if (recreateFault === undefined) onChange({ event: 'audit_file_deleted' });
        await reopen(true);
      }
    } catch (fault) {
      recreateFault = fault as Error;
    }
    return WATCH_MS;
  });
  const lines = {
    write: (line: string) => file.write(line),
    keep: (...line: Parameters<typeof file.keep>) => file.keep(...line),
    writeRequired: async (...line: Parameters<typeof file.writeRequired>) => {
      if (recreateFault !== undefined) throw new DependencyUnavailable('audit log', recreateFault);
      await file.writeRequired(...line);
    },
  };
  const withDeletion = (check: HealthCheck): HealthCheck => ({
    name: check.name,
    readiness() {
      if (recreateFault === undefined) return check.readiness();
      const reason = {
        code: 'deleted',
        text: recreateFault.message,
        fix: 'make its directory again; no restart is needed',
      };
      return isRequired ? { ready: false, reason } : { ready: true, note: reason };
    },
  });
  return {
    auditLog: jsonAuditLog(lines, { isRequired }),
    measured: file,
    checks: [withDeletion(isRequired ? checkOfRequired(file) : file)],
    reopen: () => reopen(),
    watch: () => watch.start(),
    async close() {
      watch.close();
      await file.close();
    },
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
