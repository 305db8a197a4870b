import { type RunningServer, startServer } from '../adapters/http/server/running-server.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { findSharedPort, type SharedPort } from '../adapters/system/shared-port.ts';
import { NO_CLIENT } from '../application/client-lookup.ts';
import { problemOf } from '../application/ports/health-check.ts';
import { inWords } from '../domain/problem.ts';
import type { Service } from './build.ts';
import { type ChecksBeforeStart, warningsIn } from './checks.ts';
import { PARTS } from './container.ts';
import type { Settings } from './settings/settings.ts';

/**
 * Opens the ports, and starts what runs in the background. Rejects, with nothing left open, where a port is not
 * available.
 *
 * @param found what is logged of it once the service has started.
 */
export function startProcess(service: Service, settings: Settings, found: ChecksBeforeStart): Promise<RunningServer> {
  const { core, publicServer, managementServer, features, checks } = service;
  const { HOST: host, MANAGEMENT_HOST, MANAGEMENT_PORT, SHUTDOWN_GRACE_MS, SHUTDOWN_DRAIN_MS } = settings;
  const log = core.resolve(PARTS.log);
  let port: SharedPort = { port: settings.PORT, reusePort: false };
  const memory = found.memory.filter(({ state }) => state === 'note');
  for (const { text, fix } of memory) log.warn({ event: 'memory_too_small', problem: text, fix });
  const reloads = features.flatMap(({ reload }) => reload ?? []);
  return startServer({
    management: managementServer && { server: managementServer, host: MANAGEMENT_HOST, port: MANAGEMENT_PORT },
    listener: () => ({ server: publicServer, host, ...port }),
    publish: async () => {
      const findPort = async () => {
        if (settings.PORT !== 0) port = await findSharedPort(host, settings.PORT);
      };
      // Before the keys: a start that fails must leave none in a shared ring.
      await findPort();
      await Promise.all(features.map(({ prepare }) => prepare?.()));
      // Once more: a service that has begun to listen since then would share the port, and each would refuse the
      // other's tokens.
      await findPort();
      for (const { start } of features) start?.();
    },
    lifecycle: core.resolve(PARTS.lifecycle),
    graceMs: SHUTDOWN_GRACE_MS,
    drainMs: SHUTDOWN_DRAIN_MS,
    endWaits: () => {
      for (const feature of features) feature.endWaits?.();
    },
    closables: features.flatMap(({ close }) => (close ? { close } : [])),
    reopenFiles:
      reloads.length === 0
        ? undefined
        : async () => {
            for (const reload of reloads) await reload();
          },
    log: (event, address) => {
      log.info({ event, ...address, ...(event === 'started' && { version: programVersion() }) });
      if (event !== 'started') return;
      for (const warning of warningsIn(found)) log.warn({ event: 'setting_doubtful', hint: inWords(warning) });
      const notes = checks().map((check) => problemOf(check.readiness()));
      const isEmpty = notes.some((note) => note?.code === NO_CLIENT.code);
      if (isEmpty) log.warn({ event: NO_CLIENT.code, hint: NO_CLIENT.text });
    },
  });
}
