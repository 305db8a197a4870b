import { LOAD_LIMITS, LoadLimit } from '../../adapters/http/admission/load-limit.ts';
import { RejectionDelay } from '../../adapters/http/admission/rejection-delay.ts';
import { Lifecycle } from '../../adapters/http/server/running-server.ts';
import { createKeyFactory } from '../../adapters/jwt/create-key-factory.ts';
import { SigningThreads } from '../../adapters/jwt/signing-threads.ts';
import { openAudit } from '../../adapters/log/audit-output.ts';
import { createJsonLog, openLogLines } from '../../adapters/log/json-log.ts';
import type { Lines } from '../../adapters/log/line-writer.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { ProcessMetrics } from '../../adapters/prom-client/process-metrics.ts';
import { availableCores } from '../../adapters/system/host-limits.ts';
import { RandomIdGenerator, SystemClock, SystemMonotonicClock } from '../../adapters/system/system.ts';
import { traceFields } from '../../adapters/tracing/active-span.ts';
import type { Feature } from '../feature.ts';
import { linesTo } from '../lines-to.ts';
import { type Core, createCore, PARTS, part } from '../parts.ts';
import type { Configuration } from '../settings/configuration.ts';

/** What every part may need: log, clocks, ids, metrics, the audit log, what makes keys, and what admits requests. */
export function registerPorts(core: Core, { settings, keyFile }: Configuration, lines: Lines | undefined): void {
  part(core, PARTS.logDestination, () => lines ?? openLogLines());
  part(core, PARTS.log, () => createJsonLog(core.resolve(PARTS.logDestination), traceFields));
  part(core, PARTS.mayCreate, () => true);
  part(core, PARTS.clock, () => new SystemClock());
  part(core, PARTS.monotonicClock, () => new SystemMonotonicClock());
  part(core, PARTS.ids, () => new RandomIdGenerator());
  part(core, PARTS.processMetrics, () => new ProcessMetrics(core.resolve(PARTS.logDestination)));
  part(core, PARTS.auditOutput, () => {
    const onChange = createStateLog(core.resolve(PARTS.log));
    const destination = { path: settings.AUDIT_FILE, isRequired: settings.AUDIT_REQUIRED };
    return openAudit(destination, {
      log: core.resolve(PARTS.logDestination),
      clock: core.resolve(PARTS.clock),
      onChange,
    });
  });
  part(core, PARTS.auditLog, () => core.resolve(PARTS.auditOutput).auditLog);
  part(core, PARTS.signingThreads, () => new SigningThreads(availableCores()));
  part(core, PARTS.keyFactory, () => {
    const [ids, threads] = [core.resolve(PARTS.ids), core.resolve(PARTS.signingThreads)];
    return createKeyFactory({ ids, threads, file: keyFile });
  });
  part(core, PARTS.loadLimit, () => new LoadLimit(LOAD_LIMITS));
  part(core, PARTS.rejectionDelay, () => new RejectionDelay());
  part(core, PARTS.lifecycle, () => new Lifecycle());
}

/** The same for a program that opens what a service opens, to read: nothing is recorded, and no file, table or key created. */
export function portsToRead(configuration: Configuration, writeLog: (line: string) => void = () => {}): Core {
  const core = createCore();
  const lines = linesTo(writeLog);
  const auditLog = { record: async () => {} };
  core.registerInstance(PARTS.auditOutput, { auditLog, checks: [], measured: lines, close: async () => {} });
  core.registerInstance(PARTS.mayCreate, false);
  registerPorts(core, configuration, lines);
  return core;
}

/** Opens the audit log. */
export function auditOutput(core: Core): Feature {
  const { checks, reopen, watch, measured, ...audit } = core.resolve(PARTS.auditOutput);
  const log = core.resolve(PARTS.log);
  return {
    checks,
    close: () => audit.close(),
    ...(watch && { prepare: watch }),
    ...(reopen && {
      reload: () =>
        reopen().then(
          () => log.info({ event: 'audit_file_reopened' }),
          (fault: unknown) => log.error({ event: 'audit_file_not_reopened', fault }),
        ),
    }),
    metrics(values) {
      values.total('auth_audit_lines_lost_total', measured.linesLost);
      values.gauge('auth_audit_buffered_bytes', measured.bufferedBytes, measured.bufferedBytesMax);
    },
  };
}
