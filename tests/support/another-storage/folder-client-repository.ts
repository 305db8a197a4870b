import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ClientRow,
  candidatesOfRow,
  keysOfRow,
  lookupOfRow,
  NOBODY,
  type PickDecoy,
  secretOfRow,
} from '../../../application/client-lookup.ts';
import {
  type ClientKeys,
  type ClientLookup,
  type ClientRepository,
  type ClientSecret,
  FEDERATED_CANDIDATES_MAX,
  type FederatedCandidate,
  type FederatedIdentity,
} from '../../../application/ports/client-repository.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';

/** The name of the file of a client, whatever characters its id has. */
export function fileOf(folder: string, clientId: string): string {
  return join(folder, `${createHash('sha256').update(JSON.stringify(clientId)).digest('hex')}.json`);
}

/** Registrations in a folder with a JSON file for each client, read at every look-up. */
export class FolderClientRepository implements ClientRepository {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #pickDecoy: PickDecoy;

  constructor(folder: string, clock: Clock, pickDecoy: PickDecoy) {
    this.#folder = folder;
    this.#clock = clock;
    this.#pickDecoy = pickDecoy;
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    const row = await this.#read(fileOf(this.#folder, clientId));
    return row === undefined ? { kind: 'unknown' } : lookupOfRow(row, this.#clock.now(), secretId);
  }

  async findSecret(clientId: string, secretId?: string): Promise<ClientSecret> {
    return secretOfRow(await this.#rowOrDecoy(clientId), { clientId, secretId }, this.#clock.now());
  }

  async findKeys(clientId: string, kid?: string): Promise<ClientKeys> {
    return keysOfRow(await this.#rowOrDecoy(clientId), { clientId, kid }, () => {});
  }

  async #rowOrDecoy(clientId: string) {
    const names = (await readdir(this.#folder)).sort();
    const decoy = names[this.#pickDecoy(clientId, names.length) - 1] ?? '';
    const own = await this.#read(fileOf(this.#folder, clientId));
    return own ?? (decoy === '' ? undefined : await this.#read(join(this.#folder, decoy))) ?? NOBODY;
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const paths = (await readdir(this.#folder)).map((name) => join(this.#folder, name));
    const rows = (await Promise.all(paths.map((path) => this.#read(path)))).flatMap((row) => row ?? []);
    return rows
      .filter(({ clientId }) => identity.clientId === undefined || clientId === identity.clientId)
      .toSorted((one, other) => Buffer.compare(Buffer.from(one.clientId), Buffer.from(other.clientId)))
      .flatMap((row) => candidatesOfRow(row, identity, this.#clock.now()))
      .slice(0, FEDERATED_CANDIDATES_MAX);
  }

  async #read(path: string): Promise<ClientRow | undefined> {
    try {
      return JSON.parse(await readFile(path, 'utf8'));
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new DependencyUnavailable('client repository', fault);
    }
  }
}
