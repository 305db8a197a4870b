import {
  type BrokenRegistration,
  type ClientRow,
  candidatesOfRow,
  isStorable,
  keysOfRow,
  logBroken,
  lookupOfRow,
  secretOfRow,
} from '../../application/client-lookup.ts';
import type {
  ClientLookup,
  ClientRepository,
  ClientWithKeys,
  FederatedCandidate,
  FederatedIdentity,
} from '../../application/ports/client-repository.ts';
import type { Clock } from '../../application/ports/clock.ts';
import type { StoredSecret } from '../../domain/stored-secret.ts';

/** The rows of the table `clients`, as they are stored now. Every method throws DependencyUnavailable. */
interface ClientRows {
  /** @param clientId which the storage can have. */
  find(clientId: string): Promise<ClientRow | undefined>;

  /** One row whether the client id is registered or not, without a secret if it is not. @param hasId whether secrets with ids are read too. */
  findSecret(
    clientId: string,
    hasId: boolean,
  ): Promise<{ readonly clientSecret: string | null; readonly details: string } | undefined>;

  /** In the place of a client that is missing, another one: `own` is false. None of an empty table. */
  findWithKeys(clientId: string): Promise<(ClientRow & { readonly own: boolean | number }) | undefined>;

  /** @param clientId an empty text for all clients. */
  findBySubject(issuer: string, subject: string, clientId: string): Promise<readonly ClientRow[]>;
}

/** Registrations in the table `clients`, which another program manages: read at every look-up, never written and never cached. */
export class SqlClientRepository implements ClientRepository {
  readonly #rows: ClientRows;
  readonly #log: (line: BrokenRegistration) => void;
  readonly #clock: Clock;

  constructor(rows: ClientRows, log: (line: BrokenRegistration) => void, clock: Clock) {
    this.#rows = rows;
    this.#log = log;
    this.#clock = clock;
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    const row = isStorable(clientId) ? await this.#rows.find(clientId) : undefined;
    if (row === undefined) return { kind: 'unknown' };
    const lookup = lookupOfRow(row, this.#clock.now(), secretId);
    logBroken(this.#log, clientId, lookup);
    return lookup;
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    if (!isStorable(clientId)) return undefined;
    const row = await this.#rows.findSecret(clientId, secretId !== undefined);
    if (row === undefined || row.clientSecret === null) return undefined;
    return secretOfRow({ ...row, clientSecret: row.clientSecret }, this.#clock.now(), secretId);
  }

  async findWithKeys(clientId: string, kid?: string): Promise<ClientWithKeys> {
    const row = isStorable(clientId) ? await this.#rows.findWithKeys(clientId) : undefined;
    // A collation may ignore case.
    const own = row?.own && row.clientId === clientId ? row : undefined;
    return keysOfRow(own, row, this.#log, this.#clock.now(), kid);
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const { issuer, subject, clientId = '' } = identity;
    // A driver would send half a surrogate pair as U+FFFD, and PostgreSQL has no NUL. The look-up is made anyway, for a subject that no rule has.
    const isSendable = [issuer, subject, clientId].every((text) => text.isWellFormed() && !text.includes('\0'));
    const rows = await this.#rows.findBySubject(...(isSendable ? ([issuer, subject, clientId] as const) : NO_SUBJECT));
    const candidates = rows.flatMap((row) => candidatesOfRow(row, identity, this.#clock.now()));
    for (const candidate of candidates) logBroken(this.#log, candidate.clientId, candidate.lookup);
    return candidates;
  }
}

const NO_SUBJECT = ['', '', ''] as const;
