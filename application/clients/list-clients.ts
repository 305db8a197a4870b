import type { AuthenticationMethod } from '../../domain/authentication-method.ts';
import type { ClientRegistrationFields } from '../../domain/client-registration.ts';
import type { ClientRange, ClientStore } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { methodsOfSummary } from './described-credentials.ts';
import { describeInOrder, type ManagedClient } from './managed-client.ts';

export interface ListedClient extends ManagedClient {
  /** The methods for which the client has something that is valid now. */
  readonly methods: readonly AuthenticationMethod[];
}

export interface ListRequest extends ClientRange {
  /** Only clients of this state. */
  readonly state?: ManagedClient['state'] | undefined;
  /** The most clients to return. */
  readonly limit?: number | undefined;
}

/** Describes clients, including broken ones. */
export class ListClients {
  readonly #store: ClientStore;
  readonly #clock: Clock;

  constructor(store: ClientStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Pages, ordered by client id. One page is held in memory at a time. */
  async *execute({ state, limit = Infinity, ...range }: ListRequest): AsyncGenerator<readonly ListedClient[]> {
    let left = limit;
    for await (const described of this.#described(range)) {
      const page = described.filter(({ client }) => state === undefined || client.state === state).slice(0, left);
      if (page.length > 0) yield await this.#withMethods(page);
      left -= page.length;
      if (left === 0) return;
    }
  }

  async #withMethods(page: readonly DescribedRow[]): Promise<readonly ListedClient[]> {
    const summaries = await this.#store.summarize(page.map(({ fields }) => fields));
    const now = this.#clock.now();
    return page.flatMap(({ client, fields }, index) => {
      const summary = summaries[index];
      return summary ? [{ ...client, methods: methodsOfSummary(fields.clientSecret, summary, now) }] : [];
    });
  }

  /** The last client of each page waits for the next page, which may have another client of the same id. */
  async *#described(range: ClientRange): AsyncGenerator<readonly DescribedRow[]> {
    let previousId: string | undefined;
    let waiting: readonly ClientRegistrationFields[] = [];
    for await (const page of this.#store.list(range)) {
      const clients = [...waiting, ...page];
      waiting = clients.slice(-1);
      yield describeRows(clients, previousId).slice(0, -1);
      previousId = clients.at(-2)?.clientId ?? previousId;
    }
    yield describeRows(waiting, previousId);
  }
}

interface DescribedRow {
  readonly fields: ClientRegistrationFields;
  readonly client: ManagedClient;
}

function describeRows(rows: readonly ClientRegistrationFields[], previousId?: string): readonly DescribedRow[] {
  return describeInOrder(rows, previousId).flatMap((client, index) => {
    const fields = rows[index];
    return fields ? [{ fields, client }] : [];
  });
}
