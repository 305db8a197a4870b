import type { ClientDocument } from '../../domain/client-document.ts';
import { hasWeakSecret } from '../../domain/details-document.ts';
import type { ClientRange, ClientStore, StoredClient } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { DAY_SECONDS, dateOf, type LastUsed, type LastUsedDays } from '../ports/last-used.ts';
import { describeClient } from './describe-client.ts';

/** Clients, and the ids of those among them whose secret is easy to guess. */
export interface ListedPage {
  readonly clients: readonly ListedClient[];
  readonly weak: readonly string[];
}

export type ListedClient = Omit<ClientDocument, 'secrets' | 'keys' | 'federated_subjects'>;

/** The day of the last token, such as 2026-11-29; absent if none is recorded. */
export function lastUseOf(clientId: string, { days }: LastUsedDays): { readonly last_used?: string } {
  const day = days.get(clientId);
  return day === undefined ? {} : { last_used: dateOf(day) };
}

export interface ListRequest extends ClientRange {
  /** Only clients of this state. */
  readonly state?: ClientDocument['state'] | undefined;
  /** Only clients without a token for so many seconds: nothing is known from before the record began. */
  readonly unusedFor?: number | undefined;
  /** The most clients to return. */
  readonly limit?: number | undefined;
}

interface ListParts {
  readonly store: Pick<ClientStore, 'list'>;
  readonly lastUsed: Pick<LastUsed, 'find'>;
  readonly clock: Clock;
}

/** Describes clients, also broken ones, in pages ordered by client id. One page is in memory at a time. */
export async function* listClients(
  { store, lastUsed, clock }: ListParts,
  { state, unusedFor, limit = Infinity, ...range }: ListRequest,
): AsyncGenerator<ListedPage> {
  let left = limit;
  for await (const stored of store.list(range)) {
    const now = clock.now();
    const uses = await lastUsed.find(stored.map(({ clientId }) => clientId));
    const isUnused = (clientId: string) =>
      unusedFor === undefined ||
      (uses.days.get(clientId) ?? uses.since ?? Infinity) < Math.floor((now - unusedFor) / DAY_SECONDS);
    const page = stored
      .filter(({ clientId }) => isUnused(clientId))
      .map((one) => ({
        client: { ...describeClient(one, now), ...lastUseOf(one.clientId, uses) },
        isWeak: isWeak(one, now),
      }))
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
  return hasWeakSecret(clientSecret, { ...details }, now);
}
