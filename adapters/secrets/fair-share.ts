/**
 * Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): of several flows that want work done, the one comes next
 * that has had least of it. A flow that had nothing to do saves nothing up, and one that comes back goes on where it was.
 */
export class FairShare<Flow> {
  /** For each flow that is ahead of the others: how far, in work. */
  readonly #finished = new Map<Flow, number>();
  #now = 0;

  /** The flow that comes next of those that wait: where several have had as little, one that had none lately, and the first of those. */
  next(waiting: Iterable<Flow>): Flow | undefined {
    let next: Flow | undefined;
    for (const flow of waiting) if (next === undefined || this.#isBefore(flow, next)) next = flow;
    return next;
  }

  #isBefore(flow: Flow, other: Flow): boolean {
    const difference = this.#start(flow) - this.#start(other);
    return difference === 0 ? this.#finished.has(other) && !this.#finished.has(flow) : difference < 0;
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
