/**
 * Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): of several flows that want work done, the one comes next
 * that has had least of it. A flow that had nothing to do saves nothing up, and one that comes back goes on where it was.
 */
export class FairShare<Flow> {
  /** For each flow that is ahead of the others: how far, in work. */
  readonly #finished = new Map<Flow, number>();
  #now = 0;

  /** The flow that comes next of those that wait: the first of them where several have had as little. */
  next(waiting: Iterable<Flow>): Flow | undefined {
    let next: Flow | undefined;
    for (const flow of waiting) if (next === undefined || this.#start(flow) < this.#start(next)) next = flow;
    return next;
  }

  /** Does work for a flow, in a unit of the caller's. */
  charge(flow: Flow, work: number): void {
    this.#now = this.#start(flow);
    this.#finished.set(flow, this.#now + work);
    for (const [other, finished] of this.#finished) if (finished <= this.#now) this.#finished.delete(other);
  }

  #start(flow: Flow): number {
    return Math.max(this.#finished.get(flow) ?? 0, this.#now);
  }
}
