import { Worker } from 'node:worker_threads';

/** Kills the other processes first: they would notice the end of this one and might not end. */
const THREAD = `
  const { workerData: { afterMs, processIds } } = require('node:worker_threads');
  const kill = (id) => { try { process.kill(id, 'SIGKILL'); } catch {} };
  setTimeout(() => [...processIds, process.pid].forEach(kill), afterMs);
`;

/**
 * Ends this process by SIGKILL when a time is over. The timer is in a thread of its own, so from `arm` on it fires even if the
 * event loop is blocked or waits for something that never ends. It does not keep the process alive.
 */
export class ExitDeadline {
  #thread: Worker | undefined;

  /**
   * Replaces an earlier deadline.
   * @param processIds processes that must not outlive this one. They are killed with it.
   */
  arm(afterMs: number, processIds: readonly number[]): void {
    void this.#thread?.terminate();
    const workerData = { afterMs, processIds };
    this.#thread = new Worker(THREAD, { eval: true, workerData, execArgv: [], env: {} });
    // A system that cannot start a thread leaves the process without a deadline; there is nothing else to do about it.
    this.#thread.on('error', () => {});
    this.#thread.unref();
  }
}
