import { Worker } from 'node:worker_threads';

const THREAD = `
  const { workerData: afterMs } = require('node:worker_threads');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), afterMs);
`;

/**
 * Ends this process by SIGKILL when a time is over. The timer is in a thread of its own, so from `arm` on it fires even if the
 * event loop is blocked or waits for something that never ends. It does not keep the process alive.
 */
export class ExitDeadline {
  #thread: Worker | undefined;

  /** Replaces an earlier deadline. */
  arm(afterMs: number): void {
    void this.#thread?.terminate();
    this.#thread = new Worker(THREAD, { eval: true, workerData: afterMs, execArgv: [], env: {} });
    // A system that cannot start a thread leaves the process without a deadline; there is nothing else to do about it.
    this.#thread.on('error', () => {});
    this.#thread.unref();
  }
}
