import { setTimeout as delay } from 'node:timers/promises';
import type { DependencyContainer } from 'tsyringe';
import { HttpListener } from '../adapters/http/server/http-listener.ts';
import type { Dependency } from '../application/ports/health-check.ts';
import { buildContainer, type Override } from './container.ts';
import type { Configuration } from './settings/configuration.ts';
import type { Settings } from './settings/settings.ts';
import { type ProcessRole, TOKENS } from './tokens.ts';

/** `planned`: somebody else sends requests here, and is given the grace time to notice. `at once`: a person waits. */
export type StopManner = 'planned' | 'at once';

export interface RunningService {
  readonly host: string;
  readonly port: number;
  readonly dependencies: readonly Dependency[];
  /** Ends the service so that no request is lost. May be called more than once; the first call counts. */
  stop(manner: StopManner): Promise<void>;
}

/**
 * Starts the service and resolves when it listens. Rejects, with nothing left open, where a port cannot be had or the
 * clients' table cannot be used.
 */
export async function startService(
  configuration: Configuration,
  role: Exclude<ProcessRole, 'primary'>,
  override?: Override,
): Promise<RunningService> {
  const container = await buildContainer(configuration, role, override);
  const { settings } = configuration;
  const log = container.resolve(TOKENS.log);
  const listener = new HttpListener(container.resolve(TOKENS.httpServer));
  const management = new HttpListener(container.resolve(TOKENS.managementServer));
  const opened: HttpListener[] = [];
  try {
    if (settings.MANAGEMENT_PORT !== 0) {
      await management.listen(settings.MANAGEMENT_PORT, settings.MANAGEMENT_HOST);
      opened.push(management);
    }
    const { address, port } = await listener.listen(settings.PORT, settings.HOST);
    opened.push(listener);
    container.resolve(TOKENS.lifecycle).start();
    log.info({ event: eventOf(role, 'started'), address, port });

    let stopped: Promise<void> | undefined;
    return {
      host: address,
      port,
      dependencies: container.resolve(TOKENS.dependencies),
      stop(manner) {
        stopped ??= stopService(container, settings, opened, manner, role);
        return stopped;
      },
    };
  } catch (error) {
    await closeAll(container, opened, 0);
    throw error;
  }
}

/** In this order: say that no more requests are wanted, wait until that was noticed, end what is in flight, close. */
async function stopService(
  container: DependencyContainer,
  settings: Settings,
  opened: readonly HttpListener[],
  manner: StopManner,
  role: ProcessRole,
): Promise<void> {
  const log = container.resolve(TOKENS.log);
  log.info({ event: eventOf(role, 'stopping') });
  container.resolve(TOKENS.lifecycle).stop();
  for (const listener of opened) listener.retire();
  if (manner === 'planned') await delay(settings.SHUTDOWN_GRACE_MS);
  await closeAll(container, opened, settings.SHUTDOWN_DRAIN_MS);
  log.info({ event: eventOf(role, 'stopped') });
}

/** What was opened first is closed last, so that /readyz answers until the end. */
async function closeAll(
  container: DependencyContainer,
  opened: readonly HttpListener[],
  drainMs: number,
): Promise<void> {
  for (const listener of opened.toReversed()) {
    await listener.close(drainMs, () => container.resolve(TOKENS.verificationSlots).close());
  }
  // All callers may have disconnected while their verifications still wait.
  container.resolve(TOKENS.verificationSlots).close();
  for (const dependency of container.resolve(TOKENS.dependencies).toReversed()) await dependency.close();
}

function eventOf(role: ProcessRole, event: string): string {
  return role === 'worker' ? `worker_${event}` : event;
}
