import type { DependencyContainer } from 'tsyringe';
import { type RunningServer, startServer } from '../adapters/http/server/running-server.ts';
import { inspectKeyFile, inspectProcesses } from '../adapters/system/inspect-host.ts';
import { findSharedPort } from '../adapters/system/shared-port.ts';
import type { SharedPort } from '../application/ports/processes.ts';
import type { ProcessRole } from './capability.ts';
import { LISTS, PARTS } from './parts.ts';
import { getFrom } from './registration.ts';
import { hostHint } from './settings/platform.ts';
import type { Environment } from './settings/read-environment.ts';
import { settingDoubts } from './settings/setting-doubts.ts';
import type { Settings } from './settings/settings.ts';

/**
 * Starts what a process of this role has to start. Rejects, with nothing left open, where a port is not available.
 *
 * @param environment what the settings were read from, to report what is doubtful in it; undefined in a worker.
 */
export function startProcess(
  container: DependencyContainer,
  settings: Settings,
  role: ProcessRole,
  environment?: Environment,
  workersPort?: SharedPort,
): Promise<RunningServer> {
  const { HOST: host, MANAGEMENT_HOST, MANAGEMENT_PORT } = settings;
  const { SHUTDOWN_GRACE_MS: graceMs, SHUTDOWN_DRAIN_MS: drainMs, WORKERS: workers } = settings;
  const get = getFrom(container);
  const [log, audit, pool] = [get(PARTS.log), get(PARTS.auditOutput), get.optional(PARTS.workers)];
  let port = workersPort ?? { port: settings.PORT, reusePort: false };
  const memory = role === 'worker' ? [] : inspectProcesses(workers).filter(({ state }) => state === 'problem');
  for (const { text, cure } of memory) log.warn({ event: 'memory_too_small', problem: text, cure });
  const hint = environment && hostHint(environment);
  const doubts = environment === undefined ? [] : [...settingDoubts(environment), ...doubtsAboutKey(settings)];
  return startServer({
    management:
      MANAGEMENT_PORT === 0
        ? undefined
        : { server: get(PARTS.managementServer), host: MANAGEMENT_HOST, port: MANAGEMENT_PORT },
    listener: pool ? undefined : () => ({ server: get(PARTS.httpServer), host, ...port }),
    workers: pool,
    publish: async () => {
      if (role === 'worker') return;
      const findPort = async () => {
        // The workers' pool has looked for the port already.
        if (role === 'single' && settings.PORT !== 0) port = await findSharedPort(host, settings.PORT);
      };
      // Before the keys: a start that fails must leave none in a shared directory.
      await findPort();
      await Promise.all([
        get(PARTS.keyRotation).start(get(PARTS.stopRequested)),
        ...get.all(LISTS.preparations).map((prepare) => prepare()),
      ]);
      // Once more: a service that has begun to listen since then would share the port, and each would refuse the other's tokens.
      await findPort();
      for (const start of get.all(LISTS.background)) start();
    },
    lifecycle: get(PARTS.lifecycle),
    graceMs,
    drainMs,
    endWaits: () => {
      for (const part of [PARTS.verificationSlots, PARTS.assertionQueue]) get(part).close();
    },
    closables: [audit, ...get(PARTS.dependencies), ...get.all(LISTS.closables)],
    reopenFiles:
      audit.reopen !== undefined || get.all(LISTS.reloads).length > 0 ? () => reopenFiles(container) : undefined,
    log: (event, address) => {
      const more = pool !== undefined && event === 'started' ? { workers } : {};
      log.info({ event: role === 'worker' ? `worker_${event}` : event, ...address, ...more });
      if (event !== 'started') return;
      if (hint !== undefined) log.warn({ event: 'host_not_set', hint });
      for (const doubt of doubts) log.warn({ event: 'setting_doubtful', hint: doubt });
    },
  });
}

function doubtsAboutKey({ KEY_FILE }: Settings): readonly string[] {
  const findings = KEY_FILE === undefined ? [] : inspectKeyFile(KEY_FILE, 'forge tokens');
  return findings.flatMap(({ state, text, cure }) => (state === 'note' ? [`KEY_FILE: ${text}: ${cure}`] : []));
}

/** Opens AUDIT_FILE again in this process. Resolves with whether that was possible; the reason is in the log. Reads what else SIGHUP is about. */
export async function reopenFilesHere(container: DependencyContainer): Promise<boolean> {
  for (const reload of getFrom(container).all(LISTS.reloads)) reload();
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
  const [here, workers = 0] = await Promise.all([
    reopenFilesHere(container),
    getFrom(container).optional(PARTS.workers)?.reopenFiles(),
  ]);
  if (container.resolve(PARTS.auditOutput).reopen === undefined) return;
  container.resolve(PARTS.log).info({ event: 'audit_file_reopened', processes: Number(here) + workers });
}
