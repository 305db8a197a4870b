import type { SlotRequest } from '../../application/ports/verification-slots.ts';

export interface Waiting {
  readonly request: SlotRequest;
  /** The queue of its client, once it waits in the overflow queue. */
  client?: ClientQueue;
}

/** `fifo`: first come, first served. `overflow`: used when the FIFO queue is full, with one queue for each client. */
export type QueueName = 'fifo' | 'overflow';

/** The queue that all client ids share that are not registered. */
const UNREGISTERED = Symbol('unregistered clients');

export type ClientQueue = string | symbol;

/**
 * The requests that wait for a slot, and which of them is next. The FIFO queue and the overflow queue get half of the
 * work each. Within the overflow queue, the next client is the one for which the least work has been done.
 */
export class WaitingVerifications<Item extends Waiting> {
  readonly #fifoRounds: number;
  readonly #overflowMax: number;
  readonly #fifo = new Set<Item>();
  readonly #overflow = new Map<ClientQueue, Set<Item>>();
  readonly #queueShare = new FairShare<QueueName>();
  readonly #clientShare = new FairShare<ClientQueue>();
  #overflowing = 0;

  /**
   * @param fifoRounds BCrypt rounds that may wait in the FIFO queue; one request may, whatever it costs.
   * @param overflowMax requests that may wait in the overflow queue.
   */
  constructor(fifoRounds: number, overflowMax: number) {
    this.#fifoRounds = fifoRounds;
    this.#overflowMax = overflowMax;
  }

  /** Requests that wait in each queue. */
  get load(): { readonly fifo: number; readonly overflow: number } {
    return { fifo: this.#fifo.size, overflow: this.#overflowing };
  }

  /** Adds a request to the FIFO queue. Returns false if it has no room there; a renewal always has, since its secret was right. */
  addToFifo(item: Item): boolean {
    let rounds = 2 ** item.request.cost;
    for (const { request } of this.#fifo) rounds += 2 ** request.cost;
    const fits = this.#fifo.size === 0 || rounds <= this.#fifoRounds;
    if (!fits && item.request.purpose === 'attempt') return false;
    this.#fifo.add(item);
    return true;
  }

  /** Where the overflow queue is full, the newest request of the longest client queue is evicted. */
  addToOverflow(item: Item, isRegistered: boolean): void {
    if (this.#overflowing >= this.#overflowMax) {
      const longest = [...this.#overflow.values()].reduce((one, other) => (other.size > one.size ? other : one));
      const newest = [...longest].at(-1);
      if (newest !== undefined) this.remove(newest);
    }
    item.client = isRegistered ? item.request.clientId : UNREGISTERED;
    const queue = this.#overflow.get(item.client) ?? new Set();
    this.#overflow.set(item.client, queue.add(item));
    this.#overflowing += 1;
  }

  /** Does nothing for an item that does not wait here. */
  remove(item: Item): void {
    this.#fifo.delete(item);
    const { client } = item;
    const queue = client === undefined ? undefined : this.#overflow.get(client);
    if (client === undefined || !queue?.delete(item)) return;
    this.#overflowing -= 1;
    if (queue.size === 0) this.#overflow.delete(client);
  }

  /** Removes the next one, and charges its queue and its client for the work. */
  takeNext(): { readonly item: Item; readonly queue: QueueName } | undefined {
    const heads = { fifo: first(this.#fifo), overflow: first(this.#nextClientQueue()) };
    const queue = this.#queueShare.next((['fifo', 'overflow'] as const).filter((name) => heads[name] !== undefined));
    const item = queue && heads[queue];
    if (queue === undefined || item === undefined) return undefined;
    const rounds = 2 ** item.request.cost;
    this.#queueShare.charge(queue, rounds);
    if (queue === 'overflow' && item.client !== undefined) this.#clientShare.charge(item.client, rounds);
    this.remove(item);
    return { item, queue };
  }

  #nextClientQueue(): ReadonlySet<Item> | undefined {
    const client = this.#clientShare.next(this.#overflow.keys());
    return client === undefined ? undefined : this.#overflow.get(client);
  }
}

function first<Item>(items: Iterable<Item> = []): Item | undefined {
  const [item] = items;
  return item;
}

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the next flow is the one for which the least work has been
 * done. An idle flow does not save up its share, and a flow that returns continues where it was.
 */
export class FairShare<Flow> {
  /** How far each flow is ahead of the others, in units of work. */
  readonly #finished = new Map<Flow, number>();
  #now = 0;

  /** The next of these flows. Among equals: a flow without recent work, then the first. */
  next(waiting: Iterable<Flow>): Flow | undefined {
    let next: Flow | undefined;
    for (const flow of waiting) if (next === undefined || this.#isBefore(flow, next)) next = flow;
    return next;
  }

  /** Charges a flow for work, in a unit of the caller's choice. */
  charge(flow: Flow, work: number): void {
    this.#now = this.#start(flow);
    this.#finished.set(flow, this.#now + work);
    for (const [other, finished] of this.#finished) if (finished <= this.#now) this.#finished.delete(other);
  }

  #isBefore(flow: Flow, other: Flow): boolean {
    const difference = this.#start(flow) - this.#start(other);
    return difference === 0 ? this.#finished.has(other) && !this.#finished.has(flow) : difference < 0;
  }

  #start(flow: Flow): number {
    return Math.max(this.#finished.get(flow) ?? 0, this.#now);
  }
}
