import { jsonAuditLog } from '../../adapters/log/json-audit-log.ts';
import { createJsonLog, openLogLines } from '../../adapters/log/json-log.ts';
import type { Lines } from '../../adapters/log/line-writer.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { ProcessMetrics } from '../../adapters/prom-client/process-metrics.ts';
import { RandomIdGenerator, SystemClock, SystemMonotonicClock } from '../../adapters/system/system.ts';
import type { ObservedPorts } from '../../application/ports/observed-ports.ts';
import type { Feature } from '../feature.ts';
import type { Traced } from '../features/tracing.ts';
import { openAudit } from '../open-audit.ts';
import { type Core, PARTS, part } from '../parts.ts';
import { createPoolWorks } from '../pool-work.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import { databaseOptions, openStorage } from '../storages.ts';

const same = <Port>(port: Port): Port => port;

/** The ports as they are. */
const UNOBSERVED: ObservedPorts = {
  clients: same,
  clientKeys: same,
  clientResources: same,
  federatedClients: same,
  slots: same,
  secrets: same,
  assertions: same,
  tokens: same,
  signer: same,
};

/** What every part may need: log, clocks, ids, metrics, and the audit log. */
export function registerPorts(core: Core, settings: Settings, lines: Lines | undefined, traced?: Traced): void {
  part(core, PARTS.logDestination, () => lines ?? openLogLines());
  part(core, PARTS.log, () => createJsonLog(core.resolve(PARTS.logDestination), traced?.requests.logMembers));
  part(core, PARTS.observe, () => traced?.ports ?? UNOBSERVED);
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
    database: databaseOptions(configuration.settings, log, core.resolve(PARTS.processMetrics)),
  });
  core.registerInstance(PARTS.storage, opened);
  part(core, PARTS.clientRepository, () => opened.clients);
  part(core, PARTS.clientResources, () => opened.resources ?? NO_RESOURCES);
  const { dependency } = opened;
  return dependency === undefined ? {} : { checks: [dependency], close: () => dependency.close() };
}

/** The resources of a storage that has none. */
const NO_RESOURCES = { findResources: async () => [] };
