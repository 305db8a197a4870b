import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type {
  ClientChange,
  ClientEdit,
  ClientPlan,
  ClientRange,
  ClientStore,
  PlanChange,
  StoredClient,
  StoredDetails,
} from '../../application/ports/client-store.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import { type ClientDetails, NO_DETAILS } from '../../domain/client-details.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { thumbprintInput } from '../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { InMemoryClientPlan } from './in-memory-client-plan.ts';

const PAGE_SIZE = 500;

/** Clients in the memory of this process, for tests of use cases. Passes the same contract suite as the store in a database. */
export class InMemoryClientStore implements ClientStore {
  readonly #ids: IdGenerator;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;
  readonly #clients = new Map<string, StoredClient>();

  constructor(ids: IdGenerator, recorder?: ChangeRecorder<ClientChange>) {
    this.#ids = ids;
    this.#recorder = recorder;
  }

  async *list({ prefix, after }: ClientRange): AsyncGenerator<readonly StoredClient[]> {
    const clients = [...this.#clients.keys()]
      .filter((clientId) => clientId.startsWith(prefix) && (after === undefined || compare(clientId, after) > 0))
      .sort(compare)
      .flatMap((clientId) => this.#clients.get(clientId) ?? []);
    for (let start = 0; start < clients.length; start += PAGE_SIZE) yield clients.slice(start, start + PAGE_SIZE);
  }

  async find(clientId: string): Promise<StoredClient | undefined> {
    return this.#clients.get(clientId);
  }

  async add(client: NewClient): Promise<StoredClient | undefined> {
    if (this.#clients.has(client.clientId)) return undefined;
    const after = this.#stored(client);
    this.#record({ after });
    this.#clients.set(client.clientId, after);
    return after;
  }

  async startPlan(): Promise<ClientPlan> {
    return new InMemoryClientPlan({
      stored: this.#clients,
      record: (change) => this.#recordParts(change),
      store: ({ plan: _plan, ...client }) => this.#clients.set(client.clientId, this.#stored(client)),
      remove: (clientId) => this.#clients.delete(clientId),
    });
  }

  async change<Problem>(
    clientId: string,
    edit: (stored: StoredClient) => Result<ClientEdit, Problem>,
  ): Promise<Result<StoredClient, Problem | 'client_unknown'>> {
    const before = this.#clients.get(clientId);
    if (before === undefined) return failure('client_unknown');
    const edited = edit(before);
    if (!edited.ok) return edited;
    const { details: next = before.details, ...fields } = edited.value;
    const after = { ...before, ...fields, details: withKeyIds(next) };
    if (!isDeepStrictEqual(before, after)) this.#record({ before, after });
    this.#clients.set(clientId, after);
    return success(after);
  }

  async remove(clientId: string): Promise<StoredClient | undefined> {
    const before = this.#clients.get(clientId);
    if (before) this.#record({ before });
    this.#clients.delete(clientId);
    return before;
  }

  #stored({ details, ...client }: NewClient): StoredClient {
    const id = this.#clients.get(client.clientId)?.id ?? this.#ids.uuid();
    return { ...client, id, details: withKeyIds({ ...NO_DETAILS, ...details }) };
  }

  #recordParts(change: PlanChange): void {
    const partFrom = (start: number) => ({ ...change, clients: change.clients.slice(start, start + PAGE_SIZE) });
    this.#recorder?.record(partFrom(0), undefined);
    for (let start = PAGE_SIZE; start < change.clients.length; start += PAGE_SIZE) {
      this.#recorder?.recordMore(partFrom(start));
    }
  }

  #record(changed: { readonly before?: StoredClient; readonly after?: StoredClient }): void {
    this.#recorder?.record({ kind: 'client', ...changed }, undefined);
  }
}

/** Byte by byte in UTF-8. */
function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function withKeyIds({ keys, ...details }: ClientDetails): StoredDetails {
  const keyIdOf = (text: string) => createHash('sha256').update(text).digest('base64url');
  return { ...details, keys: keys.map((key) => ({ ...key, key_id: keyIdOf(thumbprintInput(key.jwk)) })) };
}
