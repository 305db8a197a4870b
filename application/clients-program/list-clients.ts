import type { ClientDocument, CredentialsDocument } from '../../domain/client-document.ts';
import type { ClientRange, ClientStore } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { type DescribedRow, describePages, hasSecretWithoutId, methodsOf } from './describe-client.ts';

export type ListedClient = ClientDocument & Pick<CredentialsDocument, 'authentication_methods'>;

export interface ListRequest extends ClientRange {
  /** Only clients of this state. */
  readonly state?: ClientDocument['state'] | undefined;
  /** The most clients to return. */
  readonly limit?: number | undefined;
}

interface ListParts {
  readonly store: Pick<ClientStore, 'list' | 'summarize'>;
  readonly clock: Clock;
}

/** Describes clients, including broken ones, in pages that are ordered by client id. One page is held in memory at a time. */
export async function* listClients(
  parts: ListParts,
  { state, limit = Infinity, ...range }: ListRequest,
): AsyncGenerator<readonly ListedClient[]> {
  let left = limit;
  for await (const described of describePages(parts.store.list(range))) {
    const page = described.filter(({ client }) => state === undefined || client.state === state).slice(0, left);
    if (page.length > 0) yield await withMethods(parts, page);
    left -= page.length;
    if (left === 0) return;
  }
}

async function withMethods(
  { store, clock }: ListParts,
  page: readonly DescribedRow[],
): Promise<readonly ListedClient[]> {
  const clients = page.map(({ fields }) => fields);
  const valid = await store.summarize(clients, clock.now());
  return page.flatMap(({ client, fields }, index) => {
    const has = valid[index];
    if (has === undefined) return [];
    const secret = has.secret || hasSecretWithoutId(fields.clientSecret);
    return [{ ...client, authentication_methods: methodsOf({ ...has, secret }) }];
  });
}
