import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import {
  type ChangeableClient,
  type ChangedRegistration,
  type ClientChange,
  type ClientEdit,
  type ClientImport,
  type ClientRange,
  type ClientStore,
  DISPLAYED_TEXT_MAX,
  ENTRY_BYTES_MAX,
  type ExportedClient,
  type FoundClients,
  type StoredDetails,
  type ValidDetails,
} from '../../application/ports/client-store.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import { type ClientDetails, type Expiring, hasExpired, NO_DETAILS } from '../../domain/client-details.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { thumbprintInput } from '../../domain/public-jwk.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { InMemoryClientImport } from './in-memory-client-import.ts';

const PAGE_SIZE = 500;

/** Clients in the memory of this process, for tests of use cases. Passes the same contract suite as the store in PostgreSQL. */
export class InMemoryClientStore implements ClientStore {
  readonly #ids: IdGenerator;
  readonly #recorder: ChangeRecorder<ClientChange> | undefined;
  readonly #clients = new Map<string, ClientRegistrationFields>();
  readonly #details = new Map<string, StoredDetails>();

  constructor(ids: IdGenerator, recorder?: ChangeRecorder<ClientChange>) {
    this.#ids = ids;
    this.#recorder = recorder;
  }

  async *list({ prefix, after }: ClientRange): AsyncGenerator<readonly ClientRegistrationFields[]> {
    const clients = [...this.#clients.values()]
      .filter(({ clientId }) => clientId.startsWith(prefix) && (after === undefined || compare(clientId, after) > 0))
      .sort((one, other) => compare(one.clientId, other.clientId))
      .map(cut);
    for (let start = 0; start < clients.length; start += PAGE_SIZE) yield clients.slice(start, start + PAGE_SIZE);
  }

  async *export(range: ClientRange): AsyncGenerator<readonly ExportedClient[]> {
    for await (const page of this.list(range)) {
      for (const shown of page) {
        const client = this.#clients.get(shown.clientId) ?? shown;
        const details = this.#details.get(shown.clientId) ?? NO_DETAILS;
        const isLong = JSON.stringify([client, details]).length > ENTRY_BYTES_MAX;
        yield [isLong ? { ...shown, details: undefined } : { ...client, details }];
      }
    }
  }

  async summarize(clients: readonly ClientRegistrationFields[], now: number): Promise<readonly ValidDetails[]> {
    const hasValid = (entries: readonly Expiring[]) => entries.some((entry) => !hasExpired(entry, now));
    return clients.map(({ clientId }) => {
      const { secrets, keys, subjects } = this.#details.get(clientId) ?? NO_DETAILS;
      return { secret: hasValid(secrets), key: hasValid(keys), subject: subjects.length > 0 };
    });
  }

  async find(clientId: string): Promise<FoundClients> {
    const client = this.#clients.get(clientId);
    return { clients: client ? [cut(client)] : [], details: this.#details.get(clientId) ?? NO_DETAILS };
  }

  async add({ details = NO_DETAILS, ...client }: NewClient): Promise<FoundClients | undefined> {
    if (this.#clients.has(client.clientId)) return undefined;
    const added = { ...client, id: this.#ids.uuid() };
    const stored = withKeyIds({ ...NO_DETAILS, ...details });
    this.#record({ after: { client: added, details: stored } });
    this.#clients.set(client.clientId, added);
    this.#details.set(client.clientId, stored);
    return { clients: [cut(added)], details: stored };
  }

  async startImport(): Promise<ClientImport> {
    const details = (clientId: string, given: Partial<ClientDetails>) =>
      this.#details.set(clientId, withKeyIds({ ...(this.#details.get(clientId) ?? NO_DETAILS), ...given }));
    return new InMemoryClientImport(
      this.#clients,
      this.#ids,
      (counts, file) => this.#recorder?.record({ kind: 'import', counts, file }, undefined),
      details,
    );
  }

  async change<Problem>(
    clientId: string,
    edit: (stored: ChangeableClient) => Result<ClientEdit, Problem>,
  ): Promise<Result<FoundClients, Problem | 'client_unknown'>> {
    const stored = this.#clients.get(clientId);
    if (stored === undefined) return failure('client_unknown');
    const before = { client: stored, details: this.#details.get(clientId) ?? NO_DETAILS };
    const edited = edit({ ...stored, details: before.details });
    if (!edited.ok) return edited;
    const { details: next = before.details, ...fields } = edited.value;
    const after = { client: { ...stored, ...fields }, details: withKeyIds(next) };
    if (!isDeepStrictEqual(before, after)) this.#record({ before, after });
    this.#clients.set(clientId, after.client);
    this.#details.set(clientId, after.details);
    return success({ clients: [after.client], details: after.details });
  }

  async remove(clientId: string): Promise<readonly ClientRegistrationFields[]> {
    const { clients: removed, details } = await this.find(clientId);
    const [client] = removed;
    if (client) this.#record({ before: { client, details } });
    this.#clients.delete(clientId);
    this.#details.delete(clientId);
    return removed;
  }

  #record(client: ChangedRegistration): void {
    this.#recorder?.record({ kind: 'clients', clients: [client] }, undefined);
  }
}

/** Byte by byte in UTF-8. */
function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function cut(client: ClientRegistrationFields): ClientRegistrationFields {
  const [id, clientId, clientSecret, clientName, scope] = (
    [client.id, client.clientId, client.clientSecret, client.clientName, client.scope] as const
  ).map((text) => text.slice(0, DISPLAYED_TEXT_MAX)) as [string, string, string, string, string];
  return { id, clientId, clientSecret, clientName, scope };
}

function withKeyIds({ keys, ...details }: ClientDetails): StoredDetails {
  const keyIdOf = (text: string) => createHash('sha256').update(text).digest('base64url');
  return { ...details, keys: keys.map((key) => ({ ...key, key_id: keyIdOf(thumbprintInput(key.jwk)) })) };
}
