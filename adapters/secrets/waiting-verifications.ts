import type { SlotRequest } from '../../application/ports/verification-slots.ts';
import { FairShare } from './fair-share.ts';

/** `fifo`: first come, first served. `overflow`: used when the FIFO queue is full, and shared fairly. */
export type QueueName = 'fifo' | 'overflow';

export interface Waiting {
  readonly request: SlotRequest;
  /** The client that it counts for, once it waits in the overflow queue. */
  client?: ClientShare;
}

/** What all client ids share that are not registered. */
const UNREGISTERED = Symbol('unregistered clients');

type ClientShare = string | symbol;

/**
 * The requests that wait for a slot, and which of them is next. The FIFO queue and the overflow queue get half of the work
 * each.
 *
 * In the overflow queue, half of the work goes to the client for which the least work has been done, and half to the address
 * for which the least has been done; among equals, the other of the two decides. So neither guesses for one client from many
 * addresses nor guesses for many clients from one address take the work of everybody else. Where all requests come from one
 * address, only the client decides.
 */
export class WaitingVerifications<Item extends Waiting> {
  readonly #fifoRounds: number;
  readonly #overflowMax: number;
  readonly #fifo = new Set<Item>();
  /** The work that waits in the FIFO queue. */
  #rounds = 0;
  /** In the order of their arrival. */
  readonly #overflow = new Set<Item>();
  readonly #clients = new FairShare<ClientShare>();
  readonly #addresses = new FairShare<string>();
  #isAddressNext = false;
  /** By how much the FIFO queue has had more of the work; negative if the overflow queue had. */
  #fifoAhead = 0;

  /**
   * @param fifoRounds work that may wait in the FIFO queue; one request may, whatever it costs.
   * @param overflowMax requests that may wait in the overflow queue.
   */
  constructor(fifoRounds: number, overflowMax: number) {
    this.#fifoRounds = fifoRounds;
    this.#overflowMax = overflowMax;
  }

  /** Requests that wait in each queue. */
  get load(): { readonly fifo: number; readonly overflow: number } {
    return { fifo: this.#fifo.size, overflow: this.#overflow.size };
  }

  /** Clients and addresses whose work in the overflow queue is remembered. */
  get shares(): number {
    return this.#clients.size + this.#addresses.size;
  }

  /** Adds a request to the FIFO queue. Returns false if it has no room there; a renewal always has, since its secret was right. */
  addToFifo(item: Item): boolean {
    const fits = this.#fifo.size === 0 || this.#rounds + roundsOf(item) <= this.#fifoRounds;
    if (!fits && item.request.purpose === 'attempt') return false;
    this.#fifo.add(item);
    this.#rounds += roundsOf(item);
    return true;
  }

  /** When the overflow queue is full, the newest request of the client or address that has the most is evicted. */
  addToOverflow(item: Item, isRegistered: boolean): void {
    if (this.#overflow.size >= this.#overflowMax) this.#evict();
    item.client = isRegistered ? item.request.clientId : UNREGISTERED;
    this.#overflow.add(item);
  }

  /** Does nothing for an item that does not wait here. */
  remove(item: Item): void {
    if (this.#fifo.delete(item)) this.#rounds -= roundsOf(item);
    this.#overflow.delete(item);
  }

  /** Removes the next one, and charges its queue for the work. A queue does not save up work while it is empty. */
  takeNext(): { readonly item: Item; readonly queue: QueueName } | undefined {
    const { fifo, overflow } = this.load;
    const queue = overflow > 0 && (fifo === 0 || this.#fifoAhead > 0) ? 'overflow' : 'fifo';
    const [item] = queue === 'fifo' ? this.#fifo : [this.#nextOfOverflow()];
    if (item === undefined) return undefined;
    this.remove(item);
    if (queue === 'fifo') this.#fifoAhead = (overflow === 0 ? 0 : this.#fifoAhead) + roundsOf(item);
    else this.#fifoAhead = (fifo === 0 ? 0 : this.#fifoAhead) - roundsOf(item);
    return { item, queue };
  }

  /** Charges its client and its address for the work. */
  #nextOfOverflow(): Item | undefined {
    this.#clients.moveOn([...this.#overflow].map(clientOf));
    this.#addresses.moveOn([...this.#overflow].map(addressOf));
    let next: Item | undefined;
    for (const item of this.#overflow) if (next === undefined || this.#compare(item, next) < 0) next = item;
    if (next === undefined) return undefined;
    this.#clients.charge(clientOf(next), roundsOf(next));
    this.#addresses.charge(addressOf(next), roundsOf(next));
    this.#isAddressNext = !this.#isAddressNext;
    return next;
  }

  #compare(one: Item, other: Item): number {
    const client = this.#clients.compare(clientOf(one), clientOf(other));
    const address = this.#addresses.compare(addressOf(one), addressOf(other));
    return this.#isAddressNext ? address || client : client || address;
  }

  #evict(): void {
    const [client, address] = [largest(this.#overflow, clientOf), largest(this.#overflow, addressOf)];
    // Where all come from one address, the address has the most, and its client with the most is evicted.
    const items = client.length > address.length ? largest(client, addressOf) : largest(address, clientOf);
    const newest = items.at(-1);
    if (newest !== undefined) this.#overflow.delete(newest);
  }
}

function roundsOf({ request }: Waiting): number {
  return 2 ** request.cost;
}

function clientOf({ client }: Waiting): ClientShare {
  return client ?? UNREGISTERED;
}

function addressOf({ request }: Waiting): string {
  return request.caller.network;
}

/** The items of the key that most of them have; of the key that came first, if several have as many. */
function largest<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): readonly Item[] {
  const groups = [...Map.groupBy(items, keyOf).values()];
  return groups.reduce((one, other) => (other.length > one.length ? other : one), []);
}
