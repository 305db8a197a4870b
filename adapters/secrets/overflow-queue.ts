import type { SlotRequest } from '../../application/ports/verification-slots.ts';
import { FairShare } from './fair-share.ts';

export interface Waiting {
  readonly request: SlotRequest;
  /** The client that it counts for, once it waits in the overflow queue. */
  client?: ClientShare;
}

/** What all client ids share that are not registered. */
const UNREGISTERED = Symbol('unregistered clients');

type ClientShare = string | symbol;

/**
 * Requests that found the FIFO queue full. Half of the work goes to the client for which the least work has been done, and
 * half to the address for which the least has been done; among equals, the other of the two decides. So neither guesses for
 * one client from many addresses nor guesses for many clients from one address take the work of everybody else. Where all
 * requests come from one address, only the client decides.
 */
export class OverflowQueue<Item extends Waiting> {
  /** In the order of their arrival. An item that is deleted here does not wait any more. */
  readonly waiting = new Set<Item>();
  readonly #max: number;
  readonly #clients = new FairShare<ClientShare>();
  readonly #addresses = new FairShare<string>();
  #isAddressNext = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Clients and addresses whose work is remembered. */
  get shares(): number {
    return this.#clients.size + this.#addresses.size;
  }

  get sharesMax(): number {
    return this.#clients.max + this.#addresses.max;
  }

  /** When the queue is full, the newest request of the client or address that has the most is evicted. */
  add(item: Item, isRegistered: boolean): void {
    if (this.waiting.size >= this.#max) this.#evict();
    item.client = isRegistered ? item.request.clientId : UNREGISTERED;
    this.waiting.add(item);
  }

  /** Removes the next one, and charges its client and its address for the work. */
  takeNext(): Item | undefined {
    this.#clients.moveOn([...this.waiting].map(clientOf));
    this.#addresses.moveOn([...this.waiting].map(addressOf));
    let next: Item | undefined;
    for (const item of this.waiting) if (next === undefined || this.#compare(item, next) < 0) next = item;
    if (next === undefined) return undefined;
    const rounds = 2 ** next.request.cost;
    this.#clients.charge(clientOf(next), rounds);
    this.#addresses.charge(addressOf(next), rounds);
    this.#isAddressNext = !this.#isAddressNext;
    this.waiting.delete(next);
    return next;
  }

  #compare(one: Item, other: Item): number {
    const client = this.#clients.compare(clientOf(one), clientOf(other));
    const address = this.#addresses.compare(addressOf(one), addressOf(other));
    return this.#isAddressNext ? address || client : client || address;
  }

  #evict(): void {
    const [client, address] = [largest(this.waiting, clientOf), largest(this.waiting, addressOf)];
    // Where all come from one address, the address has the most, and its client with the most is evicted.
    const items = client.length > address.length ? largest(client, addressOf) : largest(address, clientOf);
    const newest = items.at(-1);
    if (newest !== undefined) this.waiting.delete(newest);
  }
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
