import {
  type BrokenRegistration,
  type ClientRow,
  type CredentialRow,
  candidatesOfRow,
  keysOfRow,
  logBroken,
  lookupOfRow,
  NOBODY,
  type PickDecoy,
  secretOfRow,
} from '../../application/client-lookup.ts';
import type {
  ClientKeys,
  ClientLookup,
  ClientRepository,
  ClientSecret,
  FederatedCandidate,
  FederatedIdentity,
} from '../../application/ports/client-repository.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { isClientId } from '../../domain/client-registration.ts';

/** The rows of the table `clients`, as they are stored now. Every method throws DependencyUnavailable. */
interface ClientRows {
  /** @param clientId which the storage can have. */
  find(clientId: string): Promise<ClientRow | undefined>;

  /**
   * The row of the client, or in the place of a missing one the first whose `id` is not below the decoy. Only of an
   * empty table there is none.
   */
  findCredentials(clientId: string, decoy: number): Promise<CredentialRow | undefined>;

  /** The highest `id` of a row, as it was a moment ago. */
  highestId(): number;

  /** @param clientId an empty text for all clients. */
  findBySubject(issuer: string, subject: string, clientId: string): Promise<readonly ClientRow[]>;
}

interface SqlClientRepositoryParts {
  readonly rows: ClientRows;
  readonly log: (line: BrokenRegistration) => void;
  readonly clock: Clock;
  readonly pickDecoy: PickDecoy;
}

/**
 * Registrations in the table `clients`, which another program manages: read at every look-up, never written and never
 * cached.
 */
export class SqlClientRepository implements ClientRepository {
  readonly #parts: SqlClientRepositoryParts;

  constructor(parts: SqlClientRepositoryParts) {
    this.#parts = parts;
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    const { rows, clock, log } = this.#parts;
    const row = isStorable(clientId) ? await rows.find(clientId) : undefined;
    if (row === undefined) return { kind: 'unknown' };
    const lookup = lookupOfRow(row, clock.now(), secretId);
    logBroken(log, clientId, lookup);
    return lookup;
  }

  async findSecret(clientId: string, secretId?: string): Promise<ClientSecret> {
    return secretOfRow(await this.#rowOrDecoy(clientId), { clientId, secretId }, this.#parts.clock.now());
  }

  async findKeys(clientId: string, kid?: string): Promise<ClientKeys> {
    return keysOfRow(await this.#rowOrDecoy(clientId), { clientId, kid }, this.#parts.log);
  }

  /** Picks a decoy for each client id, needed or not. An id that no storage can have is looked up as an empty one. */
  async #rowOrDecoy(clientId: string): Promise<CredentialRow> {
    const { rows, pickDecoy } = this.#parts;
    const decoy = pickDecoy(clientId, rows.highestId());
    return (await rows.findCredentials(isStorable(clientId) ? clientId : '', decoy)) ?? NOBODY;
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const { issuer, subject, clientId = '' } = identity;
    // A driver would send half a surrogate pair as U+FFFD, and PostgreSQL has no NUL. The look-up is made anyway, for a
    // subject that no rule has.
    const isSendable = [issuer, subject, clientId].every((text) => text.isWellFormed() && !text.includes('\0'));
    const rows = await this.#parts.rows.findBySubject(
      ...(isSendable ? ([issuer, subject, clientId] as const) : NO_SUBJECT),
    );
    const candidates = rows.flatMap((row) => candidatesOfRow(row, identity, this.#parts.clock.now()));
    for (const candidate of candidates) logBroken(this.#parts.log, candidate.clientId, candidate.lookup);
    return candidates;
  }
}

const NO_SUBJECT = ['', '', ''] as const;

/**
 * Whether a storage can have the id. A driver would send half a surrogate pair as U+FFFD, which another client id may
 * contain.
 */
function isStorable(clientId: string): boolean {
  return isClientId(clientId) && clientId.isWellFormed();
}
