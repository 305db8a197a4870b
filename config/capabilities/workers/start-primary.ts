import { randomBytes } from 'node:crypto';
import { extname } from 'node:path';
import type { RunningServer } from '../../../adapters/http/server/running-server.ts';
import { createKeyFactory, PrivateKeys } from '../../../adapters/jwt/create-key-factory.ts';
import { SigningThreads } from '../../../adapters/jwt/signing-threads.ts';
import { findSharedPort } from '../../../adapters/system/shared-port.ts';
import { RandomIdGenerator } from '../../../adapters/system/system.ts';
import { WorkerPool } from '../../../adapters/workers/worker-pool.ts';
import { WorkerProcess } from '../../../adapters/workers/worker-process.ts';
import type { Launch } from '../../capability.ts';
import { PARTS } from '../../parts.ts';
import { getFrom } from '../../registration.ts';

/** Beside this file, with the same extension: compiled or not. */
const WORKER_FILE = `${import.meta.dirname}/worker-main${extname(import.meta.filename)}`;

/** Milliseconds beyond the drain time that a worker has to end: one second for the last responses, and time to exit. */
const WORKER_EXIT_MS = 1_500;

/**
 * Starts the service in several processes: workers, which look up clients and answer requests, and this one, the primary,
 * which has the port, the keys, the verification queue and the management port. Resolves when all workers listen.
 * Rejects, with nothing left open, where one cannot.
 */
export async function startPrimary({
  configuration,
  files,
  environment,
  build,
  start,
}: Launch): Promise<RunningServer> {
  const { settings } = configuration;
  const privateKeys = new PrivateKeys();
  const keyFactory = createKeyFactory({
    ids: new RandomIdGenerator(),
    algorithm: settings.TOKEN_SIGNING_ALG,
    file: configuration.keyFile,
    privateKeys,
    // The primary signs nothing.
    threads: new SigningThreads(0),
  });
  const workers = new Set<WorkerProcess>();
  const container = await build('primary', (parts) => {
    parts.registerInstance(PARTS.keyFactory, keyFactory);
    parts.registerInstance(PARTS.onIssuerKeys, (sets) => {
      for (const worker of workers) worker.sendIssuerKeys(sets);
    });
    const logCost = parts.resolve(PARTS.onCostFound);
    parts.registerInstance(PARTS.onCostFound, (cost) => {
      logCost(cost);
      for (const worker of workers) worker.sendCost(cost);
    });
  });
  const get = getFrom(container);
  const [keyRing, slots, verifier] = [get(PARTS.keyRing), get(PARTS.verificationSlots), get(PARTS.bcryptVerifier)];
  const cacheKey = randomBytes(32);
  const keys = () => {
    const state = keyRing.state();
    return { state, privateKey: state.signing && privateKeys.signing(state.signing.kid) };
  };
  const pool = new WorkerPool({
    workers,
    size: settings.WORKERS,
    graceMs: settings.SHUTDOWN_GRACE_MS,
    exitMs: settings.SHUTDOWN_DRAIN_MS + WORKER_EXIT_MS,
    log: get(PARTS.log),
    fork: () =>
      WorkerProcess.fork(
        WORKER_FILE,
        { ...environment, WORKERS: String(settings.WORKERS) },
        {
          slots,
          workers,
          useAssertions: (uses) => get(PARTS.usedAssertionsStore).use(uses),
          keys,
          lookUpKey: (kid) => keyRing.verificationKey(kid),
          answerRoute: async (asked) => get(PARTS.routeAnswers)(asked),
          costFound: (cost) => verifier.includeCost(cost),
        },
      ),
    findPort: () => findSharedPort(settings.HOST, settings.PORT),
    async start(worker, sharedPort) {
      const { reopenings } = pool;
      await worker.start({ worker: worker.id, sharedPort, files, cacheKey });
      // A worker that is still starting does not hear of changes.
      if (pool.reopenings !== reopenings) await pool.reopenFiles();
    },
    async listen(worker) {
      for (const cost of verifier.costs) worker.sendCost(cost);
      worker.sendIssuerKeys(get.optional(PARTS.issuerKeySets)?.sets() ?? new Map());
      await worker.sendKeys();
      return worker.listen();
    },
  });
  keyRing.onChange(() => void pool.sendKeys());
  container.registerInstance(PARTS.workers, pool);
  return start(container, 'primary');
}
