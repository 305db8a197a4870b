import { randomBytes } from 'node:crypto';
import { extname } from 'node:path';
import type { DependencyContainer } from 'tsyringe';
import type { SentKeys } from '../../adapters/cluster/protocol.ts';
import { HttpListener } from '../../adapters/http/http-listener.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { Configuration } from '../configuration.ts';
import { buildContainer } from '../container.ts';
import { createKeyFactory } from '../key-factory.ts';
import type { Environment } from '../read-environment.ts';
import type { RunningService, StopManner } from '../service.ts';
import { TOKENS } from '../tokens.ts';
import { ClusterWorkforce } from './cluster-workforce.ts';
import { PrivateKeys } from './private-keys.ts';
import { workerHealth } from './worker-health.ts';
import { WorkerPool } from './worker-pool.ts';
import { WorkerProcess } from './worker-process.ts';

/** Beside this file, with the same extension: compiled or not. */
const WORKER_FILE = `${import.meta.dirname}/worker-main${extname(import.meta.filename)}`;

/** Milliseconds beyond the drain time that a worker has to end. */
const LAST_WORDS_MS = 3_000;

/**
 * Starts the service in several processes: workers, which look up clients and answer requests, and this one, which has
 * the port, the keys, the turns of secret checks and the management port. Resolves when all workers listen.
 */
export async function startPrimary(
  configuration: Configuration,
  files: ReadonlyMap<string, string | undefined>,
  environment: Environment,
): Promise<RunningService> {
  const { settings, keyFile } = configuration;
  const privateKeys = new PrivateKeys();
  // Time passes for the keys before there are workers to tell.
  let pool: WorkerPool | undefined;
  const container = await buildContainer(
    configuration,
    (parts) => {
      parts.register(TOKENS.keyFactory, {
        useValue: createKeyFactory(keyFile, parts.resolve(TOKENS.ids), privateKeys.keep),
      });
      parts.registerInstance(TOKENS.onKeysAdvanced, () => pool && tellKeys(pool));
      parts.registerInstance(TOKENS.healthChecks, checks);
      parts.registerInstance(TOKENS.workforce, new ClusterWorkforce(settings.WORKERS, () => workers.workers));
    },
    ['keys'],
  );
  const log = container.resolve(TOKENS.log);
  const ring = container.resolve(TOKENS.keyRing);
  const memoryKey = randomBytes(32);
  const management = new HttpListener(container.resolve(TOKENS.managementServer));

  const workers = new WorkerPool({
    size: settings.WORKERS,
    log,
    fork: () =>
      WorkerProcess.fork(WORKER_FILE, environment, {
        turns: container.resolve(TOKENS.checkTurns),
        findKey,
        remembered,
      }),
    start: (worker) => worker.start({ worker: worker.id, files, keys: sentKeys(), memoryKey }),
  });
  pool = workers;

  function checks() {
    const reports = [...workers.workers].map(({ health }) => health);
    return [
      container.resolve(TOKENS.lifecycle),
      workers,
      ...container.resolve(TOKENS.dependencies),
      ...workerHealth(reports),
    ];
  }

  function sentKeys(): SentKeys {
    const state = ring.state();
    return { state, privateKey: state.signing && privateKeys.signing(state.signing.kid) };
  }

  function tellKeys(to: WorkerPool): void {
    const keys = sentKeys();
    for (const worker of to.workers) worker.tellKeys(keys);
  }

  async function findKey(kid: string): Promise<SentKeys | undefined> {
    try {
      await ring.verificationKey(kid);
      return sentKeys();
    } catch (fault) {
      if (fault instanceof DependencyUnavailable) return undefined;
      throw fault;
    }
  }

  function remembered(match: Parameters<WorkerProcess['tellMatch']>[0], from: WorkerProcess): void {
    for (const worker of workers.workers) if (worker !== from) worker.tellMatch(match);
  }

  const opened: HttpListener[] = [];
  const close = async () => {
    container.resolve(TOKENS.checkTurns).close();
    for (const listener of opened) await listener.close(settings.SHUTDOWN_DRAIN_MS, () => {});
    await closeDependencies(container);
  };
  try {
    const { address, port } = await workers.start();
    if (settings.MANAGEMENT_PORT !== 0) {
      await management.listen(settings.MANAGEMENT_PORT, settings.MANAGEMENT_HOST);
      opened.push(management);
    }
    container.resolve(TOKENS.lifecycle).start();
    log.info({ event: 'started', address, port, workers: settings.WORKERS });

    let stopped: Promise<void> | undefined;
    const stop = async (manner: StopManner) => {
      log.info({ event: 'stopping' });
      container.resolve(TOKENS.lifecycle).stop();
      for (const listener of opened) listener.retire();
      const graceMs = manner === 'planned' ? settings.SHUTDOWN_GRACE_MS : 0;
      await workers.stop(manner, graceMs + settings.SHUTDOWN_DRAIN_MS + LAST_WORDS_MS);
      await close();
      log.info({ event: 'stopped' });
    };
    return {
      host: address,
      port,
      stop(manner) {
        stopped ??= stop(manner);
        return stopped;
      },
    };
  } catch (problem) {
    await workers.stop('at once', LAST_WORDS_MS);
    await close();
    throw problem;
  }
}

async function closeDependencies(container: DependencyContainer): Promise<void> {
  for (const dependency of container.resolve(TOKENS.dependencies).toReversed()) await dependency.close();
}
