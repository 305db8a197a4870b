import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClientLookup, ClientRepository } from '../../../application/ports/client-repository.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { hasExpired, type NamedSecret } from '../../../domain/client-details.ts';
import { ClientRegistration, type ClientRegistrationFields } from '../../../domain/client-registration.ts';
import { StoredSecret, selectSecret } from '../../../domain/stored-secret.ts';

/** A registration as its file has it. */
export type StoredFile = ClientRegistrationFields & { readonly secrets: readonly NamedSecret[] };

/** The name of the file of a client, whatever characters its id has. */
export function fileOf(folder: string, clientId: string): string {
  return join(folder, `${createHash('sha256').update(JSON.stringify(clientId)).digest('hex')}.json`);
}

/** Registrations in a folder with a JSON file for each client, read at every look-up. */
export class FolderClientRepository implements ClientRepository {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    const stored = await this.#read(clientId, secretId);
    if (stored === undefined) return { kind: 'unknown' };
    const read = ClientRegistration.of(stored);
    return read.ok ? { kind: 'found', registration: read.value } : { kind: 'broken', problem: read.problem };
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    const stored = await this.#read(clientId, secretId);
    return stored === undefined ? undefined : StoredSecret.parse(stored.clientSecret);
  }

  /** With the secret that the id selects. */
  async #read(clientId: string, secretId: string | undefined): Promise<StoredFile | undefined> {
    try {
      const stored: StoredFile = JSON.parse(await readFile(fileOf(this.#folder, clientId), 'utf8'));
      const named = stored.secrets.find(({ secret_id }) => secret_id === secretId);
      if (named === undefined || hasExpired(named, this.#clock.now())) return stored;
      return { ...stored, clientSecret: selectSecret(stored.clientSecret, named.encoded) };
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new DependencyUnavailable('client repository', fault);
    }
  }
}
