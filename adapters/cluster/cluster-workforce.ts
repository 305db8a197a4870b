import type { Workforce } from '../../config/workforce.ts';
import type { MetricsSnapshot } from '../prom-client/metrics-snapshot.ts';
import { WorkerTotals } from '../prom-client/worker-totals.ts';
import type { WorkerProcess } from './worker-process.ts';

/** A scraper gives up after ten seconds; what can be said without a worker that hangs is said long before. */
const ANSWER_WITHIN_MS = 1_000;

/** The workers of the primary. */
export class ClusterWorkforce implements Workforce {
  readonly size: number;
  readonly #workers: () => Iterable<WorkerProcess>;
  readonly #totals = new WorkerTotals();

  constructor(size: number, workers: () => Iterable<WorkerProcess>) {
    this.size = size;
    this.#workers = workers;
  }

  get listening(): number {
    return [...this.#workers()].filter((worker) => worker.listening).length;
  }

  /** Of a worker that does not answer there is what it counted up to the last time, and nothing on its process. */
  async metrics(): Promise<readonly MetricsSnapshot[]> {
    const processes = await Promise.all([...this.#workers()].map((worker) => this.#ask(worker)));
    const alive = new Set([...this.#workers()].map(({ id }) => id));
    return [...processes, ...(await this.#totals.all(alive))];
  }

  async #ask(worker: WorkerProcess): Promise<MetricsSnapshot> {
    const snapshot = await worker.metrics(ANSWER_WITHIN_MS);
    return snapshot === undefined ? [] : this.#totals.take(worker.id, snapshot);
  }
}
