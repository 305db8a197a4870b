import { jsonAuditLog } from '../../adapters/log/json-audit-log.ts';
import { createJsonLog, openLogLines } from '../../adapters/log/json-log.ts';
import type { Lines } from '../../adapters/log/line-writer.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { ProcessMetrics } from '../../adapters/prom-client/process-metrics.ts';
import { RandomIdGenerator, SystemClock, SystemMonotonicClock } from '../../adapters/system/system.ts';
import { traceFields } from '../../adapters/tracing/active-span.ts';
import type { Feature } from '../feature.ts';
import { openAudit } from '../open-audit.ts';
import { type Core, PARTS, part } from '../parts.ts';
import { createPoolWorks } from '../pool-work.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import { databaseOptions, openStorage } from '../storages.ts';

/** What every part may need: log, clocks, ids, metrics, and the audit log. */
export function registerPorts(core: Core, settings: Settings, lines: Lines | undefined): void {
  part(core, PARTS.logDestination, () => lines ?? openLogLines());
  part(core, PARTS.log, () => createJsonLog(core.resolve(PARTS.logDestination), traceFields));
  part(core, PARTS.mayCreateTables, () => true);
  part(core, PARTS.clock, () => new SystemClock());
  part(core, PARTS.monotonicClock, () => new SystemMonotonicClock());
  part(core, PARTS.ids, () => new RandomIdGenerator());
  part(core, PARTS.poolWorks, createPoolWorks);
  part(core, PARTS.processMetrics, () => {
    return new ProcessMetrics(core.resolve(PARTS.logDestination), () => core.resolve(PARTS.verifiedSecrets));
  });
  part(core, PARTS.auditOutput, () => {
    const onChange = createStateLog(core.resolve(PARTS.log));
    return openAudit(settings, { log: core.resolve(PARTS.logDestination), clock: core.resolve(PARTS.clock), onChange });
  });
  part(core, PARTS.auditLog, () => jsonAuditLog(core.resolve(PARTS.auditOutput).lines));
}

/** Opens the audit log. */
export function auditOutput(core: Core): Feature {
  const { checks, reopen, ...audit } = core.resolve(PARTS.auditOutput);
  const close = () => audit.close();
  if (reopen === undefined) return { checks, close };
  const log = core.resolve(PARTS.log);
  const reload = () =>
    reopen().then(
      () => log.info({ event: 'audit_file_reopened' }),
      (fault: unknown) => log.error({ event: 'audit_file_not_reopened', fault }),
    );
  return { checks, close, reload };
}

/** Opens where the registrations are, and registers what is read there. */
export async function storage(configuration: Configuration, core: Core): Promise<Feature> {
  const log = core.resolve(PARTS.log);
  const opened = await openStorage({
    configuration,
    clock: core.resolve(PARTS.clock),
    ids: core.resolve(PARTS.ids),
    log: createStateLog(log),
    database: {
      ...databaseOptions(configuration.settings, log, core.resolve(PARTS.processMetrics)),
      mayCreate: core.resolve(PARTS.mayCreateTables),
    },
  });
  core.registerInstance(PARTS.storage, opened);
  part(core, PARTS.clientRepository, () => opened.clients);
  part(core, PARTS.clientResources, () => opened.resources);
  const { dependency } = opened;
  return dependency === undefined ? {} : { checks: [dependency], close: () => dependency.close() };
}
