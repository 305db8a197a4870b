import cluster from 'node:cluster';
import { createPrivateKey } from 'node:crypto';
import type { DependencyContainer } from 'tsyringe';
import { channelToPrimary, type PrimaryChannel } from '../adapters/cluster/channel.ts';
import type { SentKeys, WorkerFunctions, WorkerStart } from '../adapters/cluster/protocol.ts';
import { RemoteTurns } from '../adapters/cluster/remote-turns.ts';
import { reportHealth } from '../adapters/cluster/report-health.ts';
import { keyPairOf } from '../adapters/jwt/key-pair.ts';
import { readPublicKey } from '../adapters/jwt/read-public-key.ts';
import { createJsonLog } from '../adapters/pino/json-log.ts';
import { ProcessMetrics } from '../adapters/prom-client/process-metrics.ts';
import { RememberedSecrets } from '../adapters/secrets/verified-secret-cache.ts';
import { SystemClock } from '../adapters/system/system-clock.ts';
import { KeyRingCopy } from '../application/keys/key-ring-replica.ts';
import { DependencyUnavailable } from '../application/ports/dependency-unavailable.ts';
import type { KeyPair } from '../application/ports/key-factory.ts';
import { createKeySchedule } from './key-ring.ts';
import { type RunningService, type StopManner, startService } from './service.ts';
import { type Configuration, loadConfiguration } from './settings/configuration.ts';
import { TOKENS } from './tokens.ts';

/** Waits for the primary to say what to do, and ends with it. Signals are the primary's: it tells its workers in order. */
export function runWorker(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  // The primary has gone while it was being spoken to. Node.js ends the worker when the pipe is closed at the other end.
  cluster.worker?.on('error', () => {});
  let worker: StartedWorker | undefined;
  const primary = channelToPrimary(
    {
      send: (message) => void (process.connected && process.send?.(message)),
      onMessage: (listener) => process.on('message', listener),
    },
    {
      async start(start) {
        try {
          worker = await startWorker(start, primary);
          return { address: worker.service.host, port: worker.service.port };
        } catch (problem) {
          return { problem: problem instanceof Error ? problem.message : 'unknown fault' };
        }
      },
      ping: () => {},
      runCheck: (id) => started().turns.run(id),
      takeKeys: (keys) => started().takeKeys(keys),
      remember: (match) => started().remembered.take(match),
      metrics: () => started().metrics.snapshot(),
      stop,
    },
  );
  function started(): StartedWorker {
    if (worker === undefined) throw new Error('the worker has not started');
    return worker;
  }

  async function stop(manner: StopManner): Promise<void> {
    await worker?.service.stop(manner);
    // With its pipe closed, the process ends.
    if (process.connected) process.disconnect();
  }
}

interface StartedWorker {
  readonly service: RunningService;
  readonly turns: RemoteTurns;
  readonly remembered: RememberedSecrets;
  readonly takeKeys: WorkerFunctions['takeKeys'];
  readonly metrics: ProcessMetrics;
}

async function startWorker(start: WorkerStart, primary: PrimaryChannel): Promise<StartedWorker> {
  const configuration = configurationOf(start);
  const { settings } = configuration;
  const clock = new SystemClock();
  const turns = new RemoteTurns({
    takeTurn: (id, request) => primary.takeTurn(id, request),
    callerGone: (id) => quietly(primary.callerGone(id)),
  });
  const remembered = new RememberedSecrets(clock, start.memoryKey, settings.CLIENT_SECRET_REMEMBERED_SECONDS, (match) =>
    quietly(primary.remembered(match)),
  );
  const keys = new KeyRingCopy({
    factory: { read: readPublicKey },
    schedule: createKeySchedule(settings),
    clock,
    async ask(kid) {
      const found = await primary.findKey(kid);
      if (found === undefined) throw new DependencyUnavailable('key directory', new Error('out of reach'));
      await takeKeys(found);
    },
  });
  let signing: KeyPair | undefined;
  let last = Promise.resolve();
  /** One after the other, so that none puts an older state back. */
  function takeKeys(sent: SentKeys): Promise<void> {
    last = last.catch(() => {}).then(() => takeOne(sent));
    return last;
  }
  async function takeOne({ state, privateKey }: SentKeys): Promise<void> {
    const kid = state.signing?.kid;
    if (kid !== undefined && privateKey !== undefined && signing?.kid !== kid) {
      const der = { key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' } as const;
      signing = await keyPairOf(kid, createPrivateKey(der));
    }
    await keys.take(state, signing);
  }
  await takeKeys(start.keys);

  // Named as in the log, whose lines have `"worker":3`.
  const metrics = new ProcessMetrics(`worker-${start.worker}`);
  let container: DependencyContainer | undefined;
  const service = await startService(
    configuration,
    (parts) => {
      container = parts;
      parts.registerInstance(TOKENS.clock, clock);
      parts.registerInstance(TOKENS.log, createJsonLog(undefined, { worker: start.worker }));
      parts.registerInstance(TOKENS.checkTurns, turns);
      parts.registerInstance(TOKENS.rememberedSecrets, remembered);
      parts.registerInstance(TOKENS.keyProvider, keys);
      parts.registerInstance(TOKENS.processMetrics, metrics);
    },
    ['clients'],
  );
  reportHealth(container?.resolve(TOKENS.dependencies) ?? [], (states) => quietly(primary.health(states)));
  return { service, turns, remembered, takeKeys, metrics };
}

/** The same as the primary's, read from the same texts; the connections to the database are shared out between workers. */
function configurationOf({ files }: WorkerStart): Configuration {
  const loaded = loadConfiguration(process.env, (path) => files.get(path));
  if (!loaded.ok) throw new Error(loaded.problem.join('\n'));
  const { settings } = loaded.value;
  const connections = Math.max(1, Math.floor(settings.DATABASE_POOL_SIZE / settings.WORKERS));
  return { ...loaded.value, settings: { ...settings, MANAGEMENT_PORT: 0, DATABASE_POOL_SIZE: connections } };
}

/** Whatever the primary cannot be told any more does not matter: this process ends too. */
function quietly(told: Promise<unknown>): void {
  told.catch(() => {});
}
