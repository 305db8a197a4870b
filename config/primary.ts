import type { DependencyContainer } from 'tsyringe';
import type { WorkerPool } from '../adapters/cluster/worker-pool.ts';
import { HttpListener } from '../adapters/http/server/http-listener.ts';
import { composePrimary } from './compose-primary.ts';
import type { RunningService, StopManner } from './service.ts';
import type { Configuration } from './settings/configuration.ts';
import type { Environment } from './settings/read-environment.ts';
import type { Settings } from './settings/settings.ts';
import { TOKENS } from './tokens.ts';

/** Milliseconds beyond the drain time that a worker has to end. */
const LAST_WORDS_MS = 3_000;

interface Started {
  readonly container: DependencyContainer;
  readonly workers: WorkerPool;
  readonly management: HttpListener | undefined;
}

/**
 * Starts the service in several processes: workers, which look up clients and answer requests, and this one, which has
 * the port, the keys, the turns of secret checks and the management port. Resolves when all workers listen. Rejects,
 * with nothing left open, where one cannot.
 */
export async function startPrimary(
  configuration: Configuration,
  files: ReadonlyMap<string, string | undefined>,
  environment: Environment,
): Promise<RunningService> {
  const { settings } = configuration;
  const container = await composePrimary(configuration, files, environment);
  const workers = container.resolve(TOKENS.workerPool);
  const log = container.resolve(TOKENS.log);
  try {
    const { address, port } = await workers.start();
    const started = { container, workers, management: await openManagement(container, settings) };
    container.resolve(TOKENS.lifecycle).start();
    log.info({ event: 'started', address, port, workers: settings.WORKERS });

    let stopped: Promise<void> | undefined;
    return {
      host: address,
      port,
      dependencies: container.resolve(TOKENS.dependencies),
      stop(manner) {
        stopped ??= stopPrimary(started, settings, manner);
        return stopped;
      },
    };
  } catch (problem) {
    await workers.stop('at once', LAST_WORDS_MS);
    await close(container);
    throw problem;
  }
}

async function openManagement(container: DependencyContainer, settings: Settings): Promise<HttpListener | undefined> {
  if (settings.MANAGEMENT_PORT === 0) return undefined;
  const management = new HttpListener(container.resolve(TOKENS.managementServer));
  await management.listen(settings.MANAGEMENT_PORT, settings.MANAGEMENT_HOST);
  return management;
}

/** In this order: say that no more requests are wanted, let the workers end what is in flight and themselves, close. */
async function stopPrimary(
  { container, workers, management }: Started,
  settings: Settings,
  manner: StopManner,
): Promise<void> {
  const log = container.resolve(TOKENS.log);
  log.info({ event: 'stopping' });
  container.resolve(TOKENS.lifecycle).stop();
  management?.retire();
  const graceMs = manner === 'planned' ? settings.SHUTDOWN_GRACE_MS : 0;
  await workers.stop(manner, graceMs + settings.SHUTDOWN_DRAIN_MS + LAST_WORDS_MS);
  await management?.close(settings.SHUTDOWN_DRAIN_MS, () => {});
  await close(container);
  log.info({ event: 'stopped' });
}

async function close(container: DependencyContainer): Promise<void> {
  container.resolve(TOKENS.verificationSlots).close();
  for (const dependency of container.resolve(TOKENS.dependencies).toReversed()) await dependency.close();
}
