import { OverflowQueue, type Waiting } from './overflow-queue.ts';

/** `fifo`: first come, first served. `overflow`: used when the FIFO queue is full, and shared fairly. */
export type QueueName = 'fifo' | 'overflow';

/** The requests that wait for a slot, and which of them is next. The FIFO queue and the overflow queue get half of the work each. */
export class WaitingVerifications<Item extends Waiting> {
  readonly #fifoRounds: number;
  readonly #fifo = new Set<Item>();
  /** The work that waits in the FIFO queue. */
  #rounds = 0;
  readonly #overflow: OverflowQueue<Item>;
  /** By how much the FIFO queue has had more of the work; negative if the overflow queue had. */
  #fifoAhead = 0;

  /**
   * @param fifoRounds work that may wait in the FIFO queue; one request may, whatever it costs.
   * @param overflowMax requests that may wait in the overflow queue.
   */
  constructor(fifoRounds: number, overflowMax: number) {
    this.#fifoRounds = fifoRounds;
    this.#overflow = new OverflowQueue(overflowMax);
  }

  /** Requests that wait in each queue. */
  get load(): { readonly fifo: number; readonly overflow: number } {
    return { fifo: this.#fifo.size, overflow: this.#overflow.waiting.size };
  }

  /** Clients and addresses whose work in the overflow queue is remembered. */
  get shares(): number {
    return this.#overflow.shares;
  }

  get sharesMax(): number {
    return this.#overflow.sharesMax;
  }

  /** Adds a request to the FIFO queue. Returns false if it has no room there; a renewal always has, since its secret was right. */
  addToFifo(item: Item): boolean {
    const fits = this.#fifo.size === 0 || this.#rounds + roundsOf(item) <= this.#fifoRounds;
    if (!fits && item.request.purpose === 'attempt') return false;
    this.#fifo.add(item);
    this.#rounds += roundsOf(item);
    return true;
  }

  /** When the overflow queue is full, another request is evicted. */
  addToOverflow(item: Item, isRegistered: boolean): void {
    this.#overflow.add(item, isRegistered);
  }

  /** Does nothing for an item that does not wait here. */
  remove(item: Item): void {
    if (this.#fifo.delete(item)) this.#rounds -= roundsOf(item);
    this.#overflow.waiting.delete(item);
  }

  /** Removes the next one, and charges its queue for the work. A queue does not save up work while it is empty. */
  takeNext(): { readonly item: Item; readonly queue: QueueName } | undefined {
    const { fifo, overflow } = this.load;
    if (overflow > 0 && (fifo === 0 || this.#fifoAhead > 0)) {
      const item = this.#overflow.takeNext();
      if (item === undefined) return undefined;
      this.#fifoAhead = (fifo === 0 ? 0 : this.#fifoAhead) - roundsOf(item);
      return { item, queue: 'overflow' };
    }
    const [item] = this.#fifo;
    if (item === undefined) return undefined;
    this.#fifoAhead = (overflow === 0 ? 0 : this.#fifoAhead) + roundsOf(item);
    this.remove(item);
    return { item, queue: 'fifo' };
  }
}

function roundsOf({ request }: Waiting): number {
  return 2 ** request.cost;
}
