import type { DependencyContainer } from 'tsyringe';
import { type RunningServer, startServer } from '../adapters/http/server/running-server.ts';
import { inspectProcesses } from '../adapters/system/inspect-host.ts';
import { findSharedPort, type SharedPort } from '../adapters/workers/shared-port.ts';
import { startOperatorParts } from './operator-parts.ts';
import { PARTS, type ProcessRole } from './parts.ts';
import type { Settings } from './settings/settings.ts';

/** Milliseconds beyond the drain time that a worker has to end: one second for the last responses, and time to exit. */
const WORKER_EXIT_MS = 1_500;

/** Starts what a process of this role has to start. Rejects, with nothing left open, where a port is not available. */
export function startProcess(
  container: DependencyContainer,
  settings: Settings,
  role: ProcessRole,
  publicPort: SharedPort = { port: settings.PORT, reusePort: false },
): Promise<RunningServer> {
  const { HOST: host, MANAGEMENT_HOST, MANAGEMENT_PORT } = settings;
  const { SHUTDOWN_GRACE_MS: graceMs, SHUTDOWN_DRAIN_MS: drainMs, WORKERS: workers } = settings;
  const log = container.resolve(PARTS.log);
  const audit = container.resolve(PARTS.auditOutput);
  const memory = role === 'worker' ? [] : inspectProcesses(workers).filter(({ state }) => state === 'problem');
  for (const { text, cure } of memory) log.warn({ event: 'memory_too_small', problem: text, cure });
  const isWatched = role !== 'worker' && settings.MANAGEMENT_TOKEN !== undefined;
  const status = isWatched ? container.resolve(PARTS.serviceStatus) : undefined;
  const pool = role === 'primary' ? container.resolve(PARTS.workerPool) : undefined;
  return startServer({
    management:
      MANAGEMENT_PORT === 0
        ? undefined
        : { server: container.resolve(PARTS.managementServer), host: MANAGEMENT_HOST, port: MANAGEMENT_PORT },
    listener: pool ? undefined : { server: container.resolve(PARTS.httpServer), host, ...publicPort },
    workers: pool && {
      start: () => pool.start(),
      listen: () => pool.listen(),
      stop: (mode) => pool.stop(mode, (mode === 'planned' ? graceMs : 0) + drainMs + WORKER_EXIT_MS),
      processIds: () => pool.processIds(),
    },
    publish: async () => {
      if (role === 'worker') return;
      // A start that fails must leave no key in a shared directory. The workers' pool has looked for the port already.
      if (role === 'single' && settings.KEY_DIRECTORY !== 'memory') await findSharedPort(host, settings.PORT);
      const isFederated = settings.CLIENT_AUTHENTICATION_METHODS.includes('federated_jwt');
      await Promise.all([
        container.resolve(PARTS.keyRotation).start(container.resolve(PARTS.stopRequested)),
        isFederated && container.resolve(PARTS.issuerKeySets).start(),
      ]);
      if (isWatched) startOperatorParts(container);
    },
    lifecycle: container.resolve(PARTS.lifecycle),
    graceMs,
    drainMs,
    endWaits: () => {
      for (const part of [PARTS.verificationSlots, PARTS.assertionQueue]) container.resolve(part).close();
    },
    closables: [audit, ...container.resolve(PARTS.dependencies), ...(status ? [status] : [])],
    reopenFiles: audit.reopen && (() => reopenFiles(container)),
    log: (event, address) => {
      const more = pool !== undefined && event === 'started' ? { workers } : {};
      log.info({ event: role === 'worker' ? `worker_${event}` : event, ...address, ...more });
    },
  });
}

/** Opens AUDIT_FILE again in this process. Resolves with whether that was possible; the reason is in the log. */
export async function reopenAuditFile(container: DependencyContainer): Promise<boolean> {
  try {
    await container.resolve(PARTS.auditOutput).reopen?.();
    return true;
  } catch (fault) {
    container.resolve(PARTS.log).error({ event: 'audit_file_not_reopened', fault });
    return false;
  }
}

/** The same in all processes. */
async function reopenFiles(container: DependencyContainer): Promise<void> {
  const pool = container.isRegistered(PARTS.workerPool) ? container.resolve(PARTS.workerPool) : undefined;
  const [own, workers = 0] = await Promise.all([reopenAuditFile(container), pool?.reopenFiles()]);
  container.resolve(PARTS.log).info({ event: 'audit_file_reopened', processes: Number(own) + workers });
}
