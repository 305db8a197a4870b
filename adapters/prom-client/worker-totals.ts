import { combine } from './combine.ts';
import type { MetricSnapshot, MetricsSnapshot } from './metrics-snapshot.ts';

/**
 * What each worker counted when it was last asked. A total that falls looks like a restart to Prometheus, which then
 * takes all of it for new; so what a worker counted stays when it is silent, and when it has ended.
 */
export class WorkerTotals {
  readonly #latest = new Map<number, MetricsSnapshot>();
  #ofEnded: Promise<MetricsSnapshot> = Promise.resolve([]);

  /** Keeps the totals of a worker, and answers the rest: what it says of its own process, which counts only now. */
  take(worker: number, snapshot: MetricsSnapshot): MetricsSnapshot {
    this.#latest.set(
      worker,
      snapshot.filter((metric) => !isOfProcess(metric)),
    );
    return snapshot.filter(isOfProcess);
  }

  /** The totals of all workers there ever were. Those that are not alive become one, however many they are. */
  async all(alive: ReadonlySet<number>): Promise<readonly MetricsSnapshot[]> {
    for (const [worker, totals] of this.#latest) {
      if (alive.has(worker)) continue;
      this.#latest.delete(worker);
      this.#ofEnded = this.#ofEnded.then((older) => combine([older, totals]).getMetricsAsJSON());
    }
    const latest = [...this.#latest.values()];
    return [await this.#ofEnded, ...latest];
  }
}

function isOfProcess({ values }: MetricSnapshot): boolean {
  return values.some(({ labels }) => 'process' in labels);
}
