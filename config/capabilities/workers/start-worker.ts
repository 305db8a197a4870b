import { TOKEN_PATH } from '../../../adapters/http/endpoints/paths.ts';
import type { RunningServer } from '../../../adapters/http/server/running-server.ts';
import { readPublicKey, readSigningKey } from '../../../adapters/jwt/create-key-factory.ts';
import { SigningThreads } from '../../../adapters/jwt/signing-threads.ts';
import { openLogLines } from '../../../adapters/log/json-log.ts';
import { AttemptLimiter } from '../../../adapters/secrets/attempt-limiter.ts';
import { PACED_ATTEMPTS } from '../../../adapters/secrets/paced-attempts.ts';
import { VERIFICATION_QUEUE_LIMITS } from '../../../adapters/secrets/verification-queue.ts';
import { VerifiedSecretCache } from '../../../adapters/secrets/verified-secret-cache.ts';
import { availableCores } from '../../../adapters/system/host-limits.ts';
import { SystemClock, SystemMonotonicClock } from '../../../adapters/system/system.ts';
import { PrimaryProcess } from '../../../adapters/workers/primary-process.ts';
import type { PrimaryPipe, WorkerStart } from '../../../adapters/workers/protocol.ts';
import { RemoteVerificationSlots } from '../../../adapters/workers/remote-verification-slots.ts';
import type { PreparedWorker } from '../../../adapters/workers/run-worker.ts';
import { reportHealth } from '../../../adapters/workers/worker-health.ts';
import type { ClosableVerificationSlots } from '../../../application/ports/verification-slots.ts';
import { WorkerKeyRing } from '../../../application/workers/worker-key-ring.ts';
import { KeySchedule } from '../../../domain/key-schedule.ts';
import { success } from '../../../domain/result.ts';
import { buildContainer } from '../../container.ts';
import { checksOfProcess } from '../../core/server-parts.ts';
import { PARTS } from '../../parts.ts';
import { getFrom } from '../../registration.ts';
import type { Configuration } from '../../settings/configuration.ts';
import { keyTimes, lookUpConnections } from '../../settings/derived-values.ts';
import { loadConfiguration } from '../../settings/load-configuration.ts';
import type { Settings } from '../../settings/settings.ts';
import { reopenFilesHere, startProcess } from '../../start-process.ts';

/** The composition root of a worker: a service with the keys and the verification slots of the primary. */
export async function startWorker(start: WorkerStart, pipe: PrimaryPipe): Promise<PreparedWorker> {
  const configuration = configurationOf(start);
  const { settings } = configuration;
  const clock = new SystemClock();
  const primary = new PrimaryProcess(pipe, {
    slotMs: VERIFICATION_QUEUE_LIMITS.waitMs,
    storageMs: settings.DATABASE_DEADLINE_MS,
    // The primary would refuse the next one.
    unansweredMax: VERIFICATION_QUEUE_LIMITS.unanswered + PACED_ATTEMPTS.max,
  });
  const verifiedSecrets = new VerifiedSecretCache(clock, {
    key: start.cacheKey,
    lifetimeSeconds: settings.CLIENT_SECRET_REMEMBERED_SECONDS,
    onAdded: pipe.secretVerified,
  });
  const signingThreads = new SigningThreads(availableCores());
  const keyProvider = new WorkerKeyRing({
    factory: { read: readPublicKey },
    readPrivateKey: (kid, alg, pkcs8) => readSigningKey(kid, alg, pkcs8, signingThreads),
    schedule: new KeySchedule(keyTimes(settings)),
    clock: new SystemMonotonicClock(),
    lookUp: primary.findKey,
  });

  const slots = new RemoteVerificationSlots(primary);
  // Named as in the log, whose lines have `"worker":3`.
  const base = { worker: start.worker };
  const logDestination = openLogLines(base);
  const container = await buildContainer(configuration, 'worker', (parts) => {
    parts.registerInstance(PARTS.processName, `worker-${start.worker}`);
    parts.registerInstance(PARTS.clock, clock);
    parts.registerInstance(PARTS.logDestination, logDestination);
    parts.registerInstance(PARTS.logBase, base);
    parts.registerInstance(PARTS.verificationSlots, limited(slots, settings));
    parts.registerInstance(PARTS.usedAssertions, { use: primary.useAssertions });
    parts.registerInstance(PARTS.routeAnswers, primary.answerRoute);
    parts.registerInstance(PARTS.onCostFound, pipe.costFound);
    parts.registerInstance(PARTS.verifiedSecrets, verifiedSecrets);
    parts.registerInstance(PARTS.signingThreads, signingThreads);
    parts.registerInstance(PARTS.keyProvider, keyProvider);
  });
  const get = getFrom(container);
  const metrics = get(PARTS.processMetrics);
  const verifier = get(PARTS.bcryptVerifier);
  let service: RunningServer | undefined;
  reportHealth(checksOfProcess(get), pipe.health);
  return {
    async listen() {
      service = await startProcess(container, settings, 'worker', undefined, start.sharedPort);
      return { address: service.host, port: service.port };
    },
    ping: primary.heard,
    takeKeys: ({ state, privateKey }) => keyProvider.take(state, privateKey),
    cacheSecret: verifiedSecrets.receive,
    takeIssuerKeys: (sets) => get.optional(PARTS.issuerKeys)?.replace(sets),
    isRegistered: slots.isRegistered,
    includeCost: (cost) => verifier.includeCost(cost),
    reopenFiles: () => reopenFilesHere(container),
    metrics: () => metrics.snapshot(),
    figures: () => metrics.figures(TOKEN_PATH),
    findRefusals: (query) => get.optional(PARTS.refusalRecords)?.find(query) ?? [],
    stop: async (mode) => service?.stop(mode),
  };
}

/**
 * The primary limits the attempts at all workers together. Until its own limit is reached, a worker may answer from its cache
 * without asking.
 */
function limited(slots: RemoteVerificationSlots, settings: Settings): ClosableVerificationSlots {
  const { CLIENT_FAILURES_PER_MINUTE: limit, WORKERS: workers } = settings;
  return limit === 0 ? slots : new AttemptLimiter(slots, { failuresPerMinute: Math.ceil(limit / workers) });
}

/** Read from the same texts as the primary's. The connections to the database are shared out between the workers. */
function configurationOf({ files }: WorkerStart): Configuration {
  const loaded = loadConfiguration(process.env, (path) => success(files.get(path) ?? ''));
  if (!loaded.ok) throw new Error(loaded.problem.join('\n'));
  const { settings } = loaded.value;
  const changed = { MANAGEMENT_PORT: 0, DATABASE_POOL_SIZE: lookUpConnections(settings) };
  return { ...loaded.value, settings: { ...settings, ...changed } };
}
