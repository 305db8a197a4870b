import cluster from 'node:cluster';
import { connectToPrimary, type PrimaryPipe } from './pipe.ts';
import type { WorkerAddress, WorkerFunctions, WorkerStart } from './protocol.ts';

/** A worker that listens, with the functions that the primary calls. */
export type RunningWorker = WorkerAddress &
  Pick<
    WorkerFunctions,
    | 'takeKeys'
    | 'cacheSecret'
    | 'takeIssuerKeys'
    | 'isRegistered'
    | 'includeCost'
    | 'reopenFiles'
    | 'metrics'
    | 'findRefusals'
    | 'stop'
  >;

/**
 * Runs a worker process: waits for the primary to start it, serves the primary's calls, and ends with the primary. It
 * ignores signals, because the primary stops its workers in order.
 */
export function runWorker(startWorker: (start: WorkerStart, primary: PrimaryPipe) => Promise<RunningWorker>): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // The primary ended while this process sent a message. Node.js ends a worker when its pipe closes.
  cluster.worker?.on('error', () => {});
  let worker: RunningWorker | undefined;

  function running(): RunningWorker {
    if (worker === undefined) throw new Error('the worker has not started');
    return worker;
  }

  const primary: PrimaryPipe = connectToPrimary(
    {
      // A primary that has ended gets no message any more, and this process ends too.
      send: (message) => void (process.connected && process.send?.(message, undefined, undefined, () => {})),
      onMessage: (listener) => process.on('message', listener),
    },
    {
      async start(start) {
        try {
          worker = await startWorker(start, primary);
          return { address: worker.address, port: worker.port };
        } catch (problem) {
          return { problem: problem instanceof Error ? problem.message : 'unknown fault' };
        }
      },
      ping: () => {},
      takeKeys: (keys) => running().takeKeys(keys),
      cacheSecret: (secret) => running().cacheSecret(secret),
      takeIssuerKeys: (sets) => running().takeIssuerKeys(sets),
      isRegistered: (id) => running().isRegistered(id),
      includeCost: (cost) => running().includeCost(cost),
      reopenFiles: () => running().reopenFiles(),
      metrics: (reader) => running().metrics(reader),
      findRefusals: (query) => running().findRefusals(query),
      async stop(mode) {
        await worker?.stop(mode);
        // Without its pipe, nothing keeps the process alive.
        if (process.connected) process.disconnect();
      },
    },
  );
}

/** Ignores a call that failed because the primary ended: this process ends too. */
export function ignoreEndOfPrimary(sent: Promise<unknown>): void {
  sent.catch(() => {});
}
