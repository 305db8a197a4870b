import type {
  ClientImport,
  ExistingClients,
  ImportCounts,
  ImportedFile,
  RepeatedClient,
} from '../../application/ports/client-store.ts';
import type { IdGenerator } from '../../application/ports/id-generator.ts';
import type { ClientDetails } from '../../domain/client-details.ts';
import type { ClientRegistrationFields, NewClient } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { isLocked, replaceSecret } from '../../domain/stored-secret.ts';

type RecordImport = (counts: ImportCounts, file: ImportedFile) => void;
type StoreDetails = (clientId: string, given: Partial<ClientDetails>) => void;

/** An import into a map of clients by their ids. */
export class InMemoryClientImport implements ClientImport {
  readonly #stored: Map<string, ClientRegistrationFields>;
  readonly #ids: IdGenerator;
  readonly #record: RecordImport;
  readonly #storeDetails: StoreDetails;
  readonly #given = new Map<string, { readonly client: NewClient; readonly position: number }>();
  readonly #done: Record<keyof ImportCounts, string[]> = { added: [], replaced: [], locked: [] };
  #count = 0;

  /** @param record is called before anything is stored. */
  constructor(
    stored: Map<string, ClientRegistrationFields>,
    ids: IdGenerator,
    record: RecordImport,
    storeDetails: StoreDetails,
  ) {
    this.#stored = stored;
    this.#ids = ids;
    this.#record = record;
    this.#storeDetails = storeDetails;
  }

  async add(clients: readonly NewClient[]): Promise<readonly RepeatedClient[]> {
    return clients.flatMap((client) => {
      const position = this.#count;
      this.#count += 1;
      const first = this.#given.get(client.clientId)?.position;
      if (first !== undefined) return [{ position, first }];
      this.#given.set(client.clientId, { client, position });
      return [];
    });
  }

  async save(
    file: ImportedFile | undefined,
    existing: ExistingClients,
  ): Promise<Result<ImportCounts, readonly number[]>> {
    const given = [...this.#given.values()];
    const taken = given.filter(({ client }) => this.#stored.has(client.clientId));
    if (existing === 'refuse' && taken.length > 0) return failure(taken.map(({ position }) => position));
    const next = given.map(({ client }) => this.#next(client));
    for (const { clientId, clientSecret } of next) {
      const isStored = this.#stored.has(clientId);
      this.#done[isStored ? 'replaced' : 'added'].push(clientId);
      if (isLocked(this.#stored.get(clientId)?.clientSecret ?? '') && isLocked(clientSecret))
        this.#done.locked.push(clientId);
    }
    const { added, replaced, locked } = this.#done;
    const counts = { added: added.length, replaced: replaced.length, locked: locked.length };
    if (file === undefined) return success(counts);
    this.#record(counts, file);
    for (const { details = {}, ...client } of next) {
      this.#stored.set(client.clientId, client);
      this.#storeDetails(client.clientId, details);
    }
    return success(counts);
  }

  async *ids(kind: keyof ImportCounts): AsyncGenerator<readonly string[]> {
    if (this.#done[kind].length > 0)
      yield this.#done[kind].toSorted((one, other) => Buffer.from(one).compare(Buffer.from(other)));
  }

  async close(): Promise<void> {
    this.#given.clear();
  }

  #next(client: NewClient): NewClient & ClientRegistrationFields {
    const stored = this.#stored.get(client.clientId);
    if (stored === undefined) return { ...client, id: this.#ids.uuid() };
    const clientSecret = replaceSecret(stored.clientSecret, client.clientSecret);
    return { ...client, id: stored.id, clientSecret };
  }
}
