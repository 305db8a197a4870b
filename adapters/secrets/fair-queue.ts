import type { SlotRequest } from '../../application/ports/verification-slots.ts';

/** Flows of each order that are kept. With client ids of the greatest length, 10,000 of them need about 4 MB. */
const FLOWS_MAX = 10_000;

/** Clients and networks that are kept. */
export const SHARES_MAX = 2 * FLOWS_MAX;

/** What all client ids share that are not registered: anybody can invent any number of them. */
const UNREGISTERED = Symbol('unregistered clients');

type Flow = string | symbol;

/**
 * One order of the waiting items, in rounds (fair queueing): each round serves one item of each flow. A flow that comes
 * later takes part in the round that runs, so it goes before those that were served or have more waiting. What holds at
 * every moment:
 * - No item waits in a round before #round: "serves next, of those that wait in the overflow queue, …".
 * - A flow has no more items served than rounds since it came: its next round counts those that were served and those
 *   that wait. The place of one that leaves comes back, maybe in a round where the flow has one already: "gives the
 *   place of a caller who disconnects back to its client".
 * - Without items, no flow is kept; with them, at most FLOWS_MAX: "keeps no more clients and networks than its bound".
 *   A flow that was evicted begins again like a new one. The tests are in
 *   tests/adapters/secrets/verification-queue.test.ts.
 */
class FairOrder<Item> {
  /** In the order of arrival in each round. */
  readonly #rounds = new Map<number, Set<Item>>();
  readonly #places = new Map<Item, { readonly flow: Flow; readonly round: number }>();
  /** How many items of each flow wait. */
  readonly #waiting = new Map<Flow, number>();
  /** The next round of each flow, the least recent first. */
  readonly #next = new Map<Flow, number>();
  #round = 0;

  /** Flows that have an item here. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Flows that are kept. */
  get size(): number {
    return this.#next.size;
  }

  add(item: Item, flow: Flow): void {
    const round = Math.max(this.#round, this.#next.get(flow) ?? 0);
    this.#keep(flow, round + 1);
    this.#waiting.set(flow, (this.#waiting.get(flow) ?? 0) + 1);
    this.#put(item, { flow, round });
  }

  /** Gives the place of one item to another. */
  replace(item: Item, other: Item): void {
    const place = this.#take(item);
    if (place !== undefined) this.#put(other, place);
  }

  first(): Item | undefined {
    while (this.#places.size > 0) {
      const [item] = this.#rounds.get(this.#round) ?? [];
      if (item !== undefined) return item;
      this.#round += 1;
    }
    return undefined;
  }

  /** Removes an item. If it has not been served, its flow gets the place back. */
  delete(item: Item, isServed: boolean): void {
    const place = this.#take(item);
    if (place === undefined) return;
    const { flow } = place;
    const [left, next] = [(this.#waiting.get(flow) ?? 1) - 1, this.#next.get(flow)];
    if (left === 0) this.#waiting.delete(flow);
    else this.#waiting.set(flow, left);
    if (!isServed && next !== undefined) this.#next.set(flow, next - 1);
    if (this.#places.size > 0) return;
    this.#next.clear();
    this.#round = 0;
  }

  #put(item: Item, place: { readonly flow: Flow; readonly round: number }): void {
    this.#places.set(item, place);
    const round = this.#rounds.get(place.round) ?? new Set();
    this.#rounds.set(place.round, round.add(item));
  }

  #take(item: Item) {
    const place = this.#places.get(item);
    if (place === undefined) return undefined;
    this.#places.delete(item);
    const round = this.#rounds.get(place.round);
    round?.delete(item);
    if (round?.size === 0) this.#rounds.delete(place.round);
    return place;
  }

  #keep(flow: Flow, round: number): void {
    this.#next.delete(flow);
    this.#next.set(flow, round);
    if (this.#next.size <= FLOWS_MAX) return;
    const [oldest] = this.#next.keys();
    if (oldest !== undefined) this.#next.delete(oldest);
  }
}

/**
 * Items that wait, served fairly: alternately the next client and the next network. So neither guesses for one client
 * from many networks nor guesses for many clients from one network keep out everybody else. Where all come from one
 * network, only the client decides.
 */
export class FairQueue<Item extends { readonly request: SlotRequest }> {
  readonly #items = new Set<Item>();
  readonly #clients = new FairOrder<Item>();
  readonly #networks = new FairOrder<Item>();
  #isNetworkNext = false;

  get size(): number {
    return this.#items.size;
  }

  /** Clients and networks that are kept, at most {@link SHARES_MAX}. */
  get shares(): number {
    return this.#clients.size + this.#networks.size;
  }

  add(item: Item, isRegistered: boolean): void {
    const { clientId, caller } = item.request;
    this.#items.add(item);
    this.#clients.add(item, isRegistered ? clientId : UNREGISTERED);
    this.#networks.add(item, caller.network);
  }

  /** Gives an item's place to another one of its client and network. False if the item does not wait here. */
  replace(item: Item, other: Item): boolean {
    if (!this.#items.delete(item)) return false;
    this.#items.add(other);
    this.#clients.replace(item, other);
    this.#networks.replace(item, other);
    return true;
  }

  /** Does nothing for an item that does not wait here. */
  remove(item: Item): void {
    this.#delete(item, false);
  }

  /** Removes the next item. */
  take(): Item | undefined {
    const isNetwork = this.#isNetworkNext && this.#networks.waiting > 1;
    this.#isNetworkNext = !this.#isNetworkNext;
    const next = isNetwork ? this.#networks.first() : this.#clients.first();
    if (next !== undefined) this.#delete(next, true);
    return next;
  }

  #delete(item: Item, isServed: boolean): void {
    if (!this.#items.delete(item)) return;
    this.#clients.delete(item, isServed);
    this.#networks.delete(item, isServed);
  }
}
