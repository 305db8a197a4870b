import cluster from 'node:cluster';
import { connectToPrimary, type PrimaryPipe, type WorkerFunctions, type WorkerStart } from './protocol.ts';

/** A worker that can listen, with the functions that the primary calls. */
export type PreparedWorker = Omit<WorkerFunctions, 'start'>;

/** What the primary may call before the worker runs. */
type StartFunctions = Pick<WorkerFunctions, 'start' | 'stop'>;

/**
 * Runs a worker process: waits for the primary to start it, serves the primary's calls, and ends with the primary. It
 * ignores signals, because the primary stops its workers in order.
 */
export function runWorker(startWorker: (start: WorkerStart, pipe: PrimaryPipe) => Promise<PreparedWorker>): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // The primary ended while this process sent a message. Node.js ends a worker when its pipe closes.
  cluster.worker?.on('error', () => {});
  let stopWorker: WorkerFunctions['stop'] | undefined;

  const functions: StartFunctions & Partial<WorkerFunctions> = {
    async start(start) {
      const { stop, ...running } = await startWorker(start, pipe);
      stopWorker = stop;
      Object.assign(functions, running);
    },
    async stop(mode) {
      await stopWorker?.(mode);
      // Without its pipe, nothing keeps the process alive.
      if (process.connected) process.disconnect();
    },
  };
  // Until the worker runs, calls of its functions are rejected.
  const pipe = connectToPrimary(
    {
      // A primary that has ended gets no message any more, and this process ends too.
      send: (message) => void (process.connected && process.send?.(message, undefined, undefined, () => {})),
      onMessage: (listener) => process.on('message', listener),
    },
    functions as WorkerFunctions,
  );
}
