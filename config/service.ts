import { setTimeout as delay } from 'node:timers/promises';
import type { DependencyContainer } from 'tsyringe';
import { HttpListener } from '../adapters/http/server/http-listener.ts';
import { buildContainer, type Override } from './container.ts';
import type { Duty } from './open-dependencies.ts';
import type { Configuration } from './settings/configuration.ts';
import type { Settings } from './settings/settings.ts';
import { TOKENS } from './tokens.ts';

/** `planned`: somebody else sends requests here, and is given the grace time to notice. `at once`: a person waits. */
export type StopManner = 'planned' | 'at once';

export interface RunningService {
  readonly host: string;
  readonly port: number;
  /** Ends the service so that no request is lost. May be called more than once; the first call counts. */
  stop(manner: StopManner): Promise<void>;
}

/**
 * Starts the service and resolves when it listens. Rejects, with nothing left open, where a port cannot be had or the
 * clients' table cannot be used.
 */
export async function startService(
  configuration: Configuration,
  override?: Override,
  duties?: readonly Duty[],
): Promise<RunningService> {
  const container = await buildContainer(configuration, override, duties);
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
    log.info({ event: eventOf(duties, 'started'), address, port });

    let stopped: Promise<void> | undefined;
    return {
      host: address,
      port,
      stop(manner) {
        stopped ??= stopService(container, settings, opened, manner, duties);
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
  duties: readonly Duty[] | undefined,
): Promise<void> {
  const log = container.resolve(TOKENS.log);
  log.info({ event: eventOf(duties, 'stopping') });
  container.resolve(TOKENS.lifecycle).stop();
  for (const listener of opened) listener.retire();
  if (manner === 'planned') await delay(settings.SHUTDOWN_GRACE_MS);
  await closeAll(container, opened, settings.SHUTDOWN_DRAIN_MS);
  log.info({ event: eventOf(duties, 'stopped') });
}

/** What was opened first is closed last, so that /readyz answers until the end. */
async function closeAll(
  container: DependencyContainer,
  opened: readonly HttpListener[],
  drainMs: number,
): Promise<void> {
  for (const listener of opened.toReversed()) {
    await listener.close(drainMs, () => container.resolve(TOKENS.checkTurns).close());
  }
  // The callers may all have left while their checks still wait.
  container.resolve(TOKENS.checkTurns).close();
  for (const dependency of container.resolve(TOKENS.dependencies).toReversed()) await dependency.close();
}

/** A process that does not do all of the service's duties is one of its workers. */
function eventOf(duties: readonly Duty[] | undefined, event: string): string {
  return duties === undefined ? event : `worker_${event}`;
}
