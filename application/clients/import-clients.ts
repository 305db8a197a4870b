import type { NewClient, RegistrationProblem } from '../../domain/client-registration.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { replaceSecret, StoredSecret } from '../../domain/stored-secret.ts';
import type { ClientStore } from '../ports/client-store.ts';
import type { SecretEncoder } from '../ports/secret-encoder.ts';
import { describeClients, type ManagedClient } from './managed-client.ts';

export interface ImportOptions {
  /** BCrypt cost of plain secrets, 4 to 14. */
  readonly cost: number;
  /** If a client is stored already: refuse the import, or give the client the imported secret, name and scope. */
  readonly existing: 'refuse' | 'replace';
}

export interface ImportedClients {
  readonly added: readonly ManagedClient[];
  /** Disabled clients among them stay disabled. */
  readonly replaced: readonly ManagedClient[];
}

/** What is wrong with the client at a position, counted from 0. */
export interface ImportProblem extends RegistrationProblem {
  readonly position: number;
}

/** Registers clients, all or none. Plain secrets are hashed, BCrypt encodings are stored as they are. */
export class ImportClients {
  readonly #store: ClientStore;
  readonly #encoder: SecretEncoder;

  constructor(store: ClientStore, encoder: SecretEncoder) {
    this.#store = store;
    this.#encoder = encoder;
  }

  /** @param clients valid registrations whose ids differ, with secrets that are `{noop}` or a BCrypt encoding. */
  async execute(
    clients: readonly NewClient[],
    { cost, existing }: ImportOptions,
  ): Promise<Result<ImportedClients, readonly ImportProblem[]>> {
    const unstorable = clients.flatMap(unstorableFields);
    if (unstorable.length > 0) return failure(unstorable);
    const encoded = await Promise.all(clients.map((client) => this.#encode(client, cost)));
    const saved = await this.#store.save(encoded, existing === 'replace' ? replaceSecret : undefined);
    if (!saved.ok) return failure(clients.flatMap((client, position) => takenId(client, position, saved.problem)));
    return success({ added: describeClients(saved.value.added), replaced: describeClients(saved.value.replaced) });
  }

  async #encode(client: NewClient, cost: number): Promise<NewClient> {
    const secret = StoredSecret.parse(client.clientSecret);
    if (secret.kind !== 'plain') return client;
    return { ...client, clientSecret: await this.#encoder.encode(secret.reveal(), cost) };
  }
}

/** Texts that a database cannot store: a NUL, and half of a surrogate pair. */
function unstorableFields(client: NewClient, position: number): readonly ImportProblem[] {
  return (['clientId', 'clientName'] as const)
    .filter((field) => !client[field].isWellFormed() || client[field].includes('\0'))
    .map((field) => ({ position, field, rule: 'must be Unicode text without NUL' }));
}

function takenId({ clientId }: NewClient, position: number, taken: ReadonlySet<string>): readonly ImportProblem[] {
  return taken.has(clientId) ? [{ position, field: 'clientId', rule: 'is registered already' }] : [];
}
