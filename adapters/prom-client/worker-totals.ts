import { type MetricsSnapshot, mergeSnapshots } from './metrics-snapshot.ts';

/**
 * The totals of each worker, from its last snapshot. Prometheus takes a falling total for a restart and counts all of it
 * again. So the totals of a worker stay when it does not answer and after it has ended.
 */
export class WorkerTotals {
  readonly #latest = new Map<number, { readonly reading: number; readonly totals: MetricsSnapshot }>();
  #ended: Promise<MetricsSnapshot> = Promise.resolve([]);

  /**
   * Keeps the totals of a worker, unless those of a later reading have arrived before. Returns the rest: the metrics of its
   * process, which are valid only now.
   * @param reading grows with each reading.
   */
  take(worker: number, snapshot: MetricsSnapshot, reading: number): MetricsSnapshot {
    if (reading >= (this.#latest.get(worker)?.reading ?? 0)) {
      this.#latest.set(worker, { reading, totals: snapshot.filter((metric) => !isOfProcess(metric)) });
    }
    return snapshot.filter(isOfProcess);
  }

  /** The totals of all workers since the start. Those of workers that have ended are merged into one snapshot. */
  async all(alive: ReadonlySet<number>): Promise<readonly MetricsSnapshot[]> {
    for (const [worker, { totals }] of this.#latest) {
      if (alive.has(worker)) continue;
      this.#latest.delete(worker);
      this.#ended = this.#ended.then((older) => mergeSnapshots([older, totals]).getMetricsAsJSON());
    }
    const latest = [...this.#latest.values()].map(({ totals }) => totals);
    return [await this.#ended, ...latest];
  }
}

function isOfProcess({ values }: MetricsSnapshot[number]): boolean {
  return values.some(({ labels }) => 'process' in labels);
}
