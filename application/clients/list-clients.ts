import type { ClientRegistrationFields } from '../../domain/client-registration.ts';
import type { ClientRange, ClientStore } from '../ports/client-store.ts';
import { describeInOrder, type ManagedClient } from './managed-client.ts';

export interface ListRequest extends ClientRange {
  /** Only clients of this state. */
  readonly state?: ManagedClient['state'] | undefined;
  /** The most clients to return. */
  readonly limit?: number | undefined;
}

/** Describes clients, including broken ones. */
export class ListClients {
  readonly #store: ClientStore;

  constructor(store: ClientStore) {
    this.#store = store;
  }

  /** Pages, ordered by client id. One page is held in memory at a time. */
  async *execute({ state, limit = Infinity, ...range }: ListRequest): AsyncGenerator<readonly ManagedClient[]> {
    let left = limit;
    for await (const described of this.#described(range)) {
      const page = described.filter((client) => state === undefined || client.state === state).slice(0, left);
      if (page.length > 0) yield page;
      left -= page.length;
      if (left === 0) return;
    }
  }

  /** The last client of each page waits for the next page, which may have another client of the same id. */
  async *#described(range: ClientRange): AsyncGenerator<readonly ManagedClient[]> {
    let previousId: string | undefined;
    let waiting: readonly ClientRegistrationFields[] = [];
    for await (const page of this.#store.list(range)) {
      const clients = [...waiting, ...page];
      waiting = clients.slice(-1);
      yield describeInOrder(clients, previousId).slice(0, -1);
      previousId = clients.at(-2)?.clientId ?? previousId;
    }
    yield describeInOrder(waiting, previousId);
  }
}
