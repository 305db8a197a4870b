/** Flows whose work is remembered. With client ids of the greatest length, 10,000 of them need about 4 MB. */
export const FLOWS_MAX = 10_000;

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the next flow is the one for which the least work has been
 * done. An idle flow does not save up its share, and a flow that returns continues where it was.
 */
export class FairShare<Flow> {
  readonly #flowsMax: number;
  /** How far the work of each flow has come, the least recent work first. */
  readonly #finished = new Map<Flow, number>();
  #now = 0;

  constructor(flowsMax = FLOWS_MAX) {
    this.#flowsMax = flowsMax;
  }

  /** Flows whose work is remembered. */
  get size(): number {
    return this.#finished.size;
  }

  /** Moves the time on to the work that is due among those that wait. What others did not use until then is lost. */
  moveOn(waiting: Iterable<Flow>): void {
    let due = Infinity;
    for (const flow of waiting) due = Math.min(due, this.#start(flow));
    if (due !== Infinity) this.#now = due;
  }

  /** Negative if the first comes before the second. Among equals: the one whose last work is longer ago, or that had none. */
  compare(one: Flow, other: Flow): number {
    if (one === other) return 0;
    return this.#start(one) - this.#start(other) || (this.#finished.get(one) ?? -1) - (this.#finished.get(other) ?? -1);
  }

  /** Charges a flow for work, in a unit of the caller's choice. Beyond the greatest number of flows, the oldest work is forgotten. */
  charge(flow: Flow, work: number): void {
    const finished = this.#start(flow) + work;
    this.#finished.delete(flow);
    this.#finished.set(flow, finished);
    if (this.#finished.size <= this.#flowsMax) return;
    const [oldest] = this.#finished.keys();
    if (oldest !== undefined) this.#finished.delete(oldest);
  }

  #start(flow: Flow): number {
    return Math.max(this.#finished.get(flow) ?? 0, this.#now);
  }
}
