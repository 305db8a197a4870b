import type { DependencyContainer } from 'tsyringe';
import { type RunningServer, startServer } from '../adapters/http/server/running-server.ts';
import { buildContainer, type Override } from './container.ts';
import type { Configuration } from './settings/configuration.ts';
import type { Settings } from './settings/settings.ts';
import { type ProcessRole, TOKENS } from './tokens.ts';

/** Milliseconds beyond the drain time that a worker has to end. */
const WORKER_EXIT_MS = 3_000;

/**
 * Starts the service in one process and resolves when it listens. Rejects, with nothing left open, where a port is not
 * available or the table of the clients cannot be used.
 */
export async function startService(configuration: Configuration, override?: Override): Promise<RunningServer> {
  const container = await buildContainer(configuration, 'single', override);
  return startServerOf(container, configuration.settings, 'single');
}

/** Starts what a process of this role has to start. Rejects with nothing left open. */
export function startServerOf(
  container: DependencyContainer,
  settings: Settings,
  role: ProcessRole,
): Promise<RunningServer> {
  const { SHUTDOWN_GRACE_MS: graceMs, SHUTDOWN_DRAIN_MS: drainMs } = settings;
  const log = container.resolve(TOKENS.log);
  const listeners = [
    { server: TOKENS.managementServer, host: settings.MANAGEMENT_HOST, port: settings.MANAGEMENT_PORT },
    { server: TOKENS.httpServer, host: settings.HOST, port: settings.PORT },
  ]
    .filter(({ server, port }) => (server === TOKENS.managementServer ? port !== 0 : role !== 'primary'))
    .map(({ server, ...address }) => ({ server: container.resolve(server), ...address }));
  const pool = role === 'primary' ? container.resolve(TOKENS.workerPool) : undefined;
  return startServer({
    ...(pool && {
      workers: {
        start: () => pool.start(),
        stop: (mode) => pool.stop(mode, (mode === 'planned' ? graceMs : 0) + drainMs + WORKER_EXIT_MS),
      },
    }),
    listeners,
    lifecycle: container.resolve(TOKENS.lifecycle),
    graceMs,
    drainMs,
    endWaits: () => container.resolve(TOKENS.verificationSlots).close(),
    closables: container.resolve(TOKENS.dependencies),
    log: (event, address) =>
      log.info({
        event: role === 'worker' ? `worker_${event}` : event,
        ...address,
        ...(pool && event === 'started' && { workers: settings.WORKERS }),
      }),
  });
}
