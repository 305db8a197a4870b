import { randomBytes } from 'node:crypto';
import { extname } from 'node:path';
import type { DependencyContainer } from 'tsyringe';
import { ClusterWorkforce } from '../adapters/cluster/cluster-workforce.ts';
import { KeysForWorkers } from '../adapters/cluster/keys-for-workers.ts';
import { workerHealth } from '../adapters/cluster/worker-health.ts';
import { WorkerPool } from '../adapters/cluster/worker-pool.ts';
import { WorkerProcess } from '../adapters/cluster/worker-process.ts';
import { PrivateKeys } from '../adapters/jwt/private-keys.ts';
import { buildContainer } from './container.ts';
import { createKeyFactory } from './key-factory.ts';
import type { Configuration } from './settings/configuration.ts';
import type { Environment } from './settings/read-environment.ts';
import { TOKENS } from './tokens.ts';

/** Beside this file, with the same extension: compiled or not. */
const WORKER_FILE = `${import.meta.dirname}/worker-main${extname(import.meta.filename)}`;

/** The composition root of the first process: the parts of a service that its workers share, and the workers, not started yet. */
export async function composePrimary(
  configuration: Configuration,
  files: ReadonlyMap<string, string | undefined>,
  environment: Environment,
): Promise<{ readonly container: DependencyContainer; readonly workers: WorkerPool }> {
  const { settings, keyFile } = configuration;
  const privateKeys = new PrivateKeys();
  const memoryKey = randomBytes(32);
  // The keys come to life while the container is built, and have nobody to be told to before there are workers.
  let composed: { readonly workers: WorkerPool; readonly keys: KeysForWorkers } | undefined;
  const pool = () => composed?.workers.workers ?? new Set<WorkerProcess>();

  const container: DependencyContainer = await buildContainer(
    configuration,
    (parts) => {
      const factory = createKeyFactory(keyFile, parts.resolve(TOKENS.ids), privateKeys.keep);
      parts.registerInstance(TOKENS.keyFactory, factory);
      const tellKeys = () => {
        for (const worker of pool()) if (composed) worker.tellKeys(composed.keys.now());
      };
      parts.registerInstance(TOKENS.onKeysAdvanced, tellKeys);
      const auditLog = parts.resolve(TOKENS.auditLog);
      parts.registerInstance(TOKENS.auditLog, {
        record(event) {
          auditLog.record(event);
          // At once: the directory, which is told next, may take its time, and a retired key must not sign meanwhile.
          if (event.event === 'key_retired') tellKeys();
        },
      });
      parts.registerInstance(TOKENS.workforce, new ClusterWorkforce(settings.WORKERS, pool));
      parts.registerInstance(TOKENS.healthChecks, () => [
        parts.resolve(TOKENS.lifecycle),
        ...(composed ? [composed.workers] : []),
        ...parts.resolve(TOKENS.dependencies),
        ...workerHealth([...pool()].map(({ health }) => health)),
      ]);
    },
    ['keys'],
  );

  const keys = new KeysForWorkers(container.resolve(TOKENS.keyRing), privateKeys);
  const workers = new WorkerPool({
    size: settings.WORKERS,
    log: container.resolve(TOKENS.log),
    fork: () =>
      WorkerProcess.fork(WORKER_FILE, environment, {
        turns: container.resolve(TOKENS.checkTurns),
        findKey: (kid) => keys.find(kid),
        remembered(match, from) {
          for (const worker of pool()) if (worker !== from) worker.tellMatch(match);
        },
      }),
    async start(worker) {
      const where = await worker.start({ worker: worker.id, files, keys: keys.now(), memoryKey });
      // What was told meanwhile, it was not ready to hear.
      worker.tellKeys(keys.now());
      return where;
    },
  });
  composed = { workers, keys };
  return { container, workers };
}
