import type { ClientDocument } from '../../domain/client-document.ts';
import { documentOf, hasWeakSecret } from '../../domain/details-document.ts';
import type { ClientRange, ClientStore, StoredClient } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { describeClient } from './describe-client.ts';

/** Clients, and the ids of those among them whose secret is easy to guess. */
export interface ListedPage {
  readonly clients: readonly ListedClient[];
  readonly weak: readonly string[];
}

export type ListedClient = Omit<ClientDocument, 'secrets' | 'keys' | 'federated_subjects'>;

export interface ListRequest extends ClientRange {
  /** Only clients of this state. */
  readonly state?: ClientDocument['state'] | undefined;
  /** The most clients to return. */
  readonly limit?: number | undefined;
}

interface ListParts {
  readonly store: Pick<ClientStore, 'list'>;
  readonly clock: Clock;
}

/** Describes clients, including broken ones, in pages that are ordered by client id. One page is held in memory at a time. */
export async function* listClients(
  { store, clock }: ListParts,
  { state, limit = Infinity, ...range }: ListRequest,
): AsyncGenerator<ListedPage> {
  let left = limit;
  for await (const stored of store.list(range)) {
    const now = clock.now();
    const page = stored
      .map((one) => ({ client: describeClient(one, now), isWeak: isWeak(one, now) }))
      .filter(({ client }) => state === undefined || client.state === state)
      .slice(0, left);
    const clients = page.map(({ client: { secrets: _s, keys: _k, federated_subjects: _f, ...listed } }) => listed);
    const weak = page.flatMap(({ client, isWeak }) => (isWeak ? client.client_id : []));
    if (page.length > 0) yield { clients, weak };
    left -= page.length;
    if (left === 0) return;
  }
}

function isWeak({ clientSecret, details }: StoredClient, now: number): boolean {
  return hasWeakSecret(clientSecret, { ...documentOf(details) }, now);
}
