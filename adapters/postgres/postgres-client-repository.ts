import {
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
import { followCosts } from '../../application/storage-figures.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, type StoredSecret } from '../../domain/stored-secret.ts';
import {
  CLIENTS,
  FIND_BY_SUBJECT,
  FIND_CLIENTS,
  FIND_SECRET,
  FIND_WITH_KEYS,
  findCosts,
  LIST_CLIENTS,
} from './client-entity.ts';
import { acquireTimeoutMs, type ConnectionOptions } from './connection.ts';
import { SQLSTATE } from './fault.ts';
import type { DatabaseLog } from './health.ts';
import { LookUps } from './look-ups.ts';
import type { Runner } from './runner.ts';
import { openTable } from './table.ts';

/** A row of FIND_WITH_KEYS. */
interface AskedRow extends ClientRow {
  readonly asked: string;
  /** False for the row of another client, in the place of one that is missing. */
  readonly own: boolean;
}

/**
 * Registrations in the table `clients`, which another program manages: read at every look-up, never written and never
 * cached. The entity manager is not on this path; docs/decisions/0102 has the figures.
 */
export class PostgresClientRepository implements ClientRepository {
  readonly #runner: Runner;
  readonly #log: DatabaseLog;
  readonly #clock: Clock;
  readonly #clients: LookUps<ClientRow>;
  readonly #withKeys: LookUps<AskedRow>;

  constructor(runner: Runner, log: DatabaseLog, clock: Clock) {
    this.#runner = runner;
    this.#log = log;
    this.#clock = clock;
    this.#clients = new LookUps(runner, FIND_CLIENTS, ({ clientId }) => clientId);
    this.#withKeys = new LookUps(runner, FIND_WITH_KEYS, ({ asked }) => asked);
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    const row = await this.#clients.find(clientId);
    if (row === undefined) return { kind: 'unknown' };
    const lookup = lookupOfRow(row, this.#clock.now(), secretId);
    logBroken(this.#log, clientId, lookup);
    return lookup;
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    if (!isStorable(clientId)) return undefined;
    const statement = { ...FIND_SECRET, values: [clientId, String(secretId !== undefined)] };
    const [row] = await this.#runner.run<{ readonly clientSecret: string | null; readonly details: string }>(
      statement,
      SQLSTATE.unstorableText,
    );
    if (row === undefined || row.clientSecret === null) return undefined;
    return secretOfRow({ ...row, clientSecret: row.clientSecret }, this.#clock.now(), secretId);
  }

  async findWithKeys(clientId: string): Promise<ClientWithKeys> {
    const row = await this.#withKeys.find(clientId);
    const found = keysOfRow(row?.own ? row : undefined, row, this.#log, this.#clock.now());
    logBroken(this.#log, clientId, found.lookup);
    return found;
  }

  async findBySubject(identity: FederatedIdentity): Promise<readonly FederatedCandidate[]> {
    const { issuer, subject, clientId = '' } = identity;
    // The driver would send half a surrogate pair as U+FFFD. The look-up is made anyway, for a subject that no rule has.
    const isSendable = [issuer, subject, clientId].every((text) => text.isWellFormed());
    const values = isSendable ? [JSON.stringify([{ issuer, subject }]), clientId] : ['[{"subject":""}]', ''];
    const rows = await this.#runner.run<ClientRow>({ ...FIND_BY_SUBJECT, values }, SQLSTATE.unstorableText);
    const candidates = rows.flatMap((row) => candidatesOfRow(row, identity, this.#clock.now()));
    for (const candidate of candidates) logBroken(this.#log, candidate.clientId, candidate.lookup);
    return candidates;
  }

  /** The BCrypt costs that stored secrets have; undefined if it takes longer to read the table. */
  async findCosts(milliseconds: number): Promise<readonly number[] | undefined> {
    const rows = await this.#runner.tryRun<{ readonly cost: string }>(findCosts(milliseconds), milliseconds);
    return rows?.map(({ cost }) => Number(cost)).filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }
}

/** How long the table may be read for its costs, for which the deadline of a request is too short. */
const WHOLE_TABLE_MS = 60_000;

/** The look-up of an id that no client can have. */
const FIND_NO_CLIENT = { ...FIND_CLIENTS, values: [['']] };

/**
 * The repository, and the costs of its secrets. Throws if the table cannot be used. If the database cannot be reached,
 * resolves and continues to try.
 *
 * @param needsDetails whether the service is of no use without the column `details`.
 */
export async function openClientRepository(
  options: ConnectionOptions,
  log: DatabaseLog,
  clock: Clock,
  needsDetails = false,
) {
  const definition = needsDetails ? { ...CLIENTS, optional: [] } : CLIENTS;
  const table = await openTable('client repository', definition, options, log, FIND_NO_CLIENT);
  const clients = new PostgresClientRepository(table.runner, log, clock);
  // Requests wait for the only connection, and still find their responses in time.
  const costsMs = options.poolSize > 1 ? WHOLE_TABLE_MS : Math.ceil(acquireTimeoutMs(options.deadlineMs) / 4);
  const listRows = () => table.runner.run<ClientRow>(LIST_CLIENTS);
  return { clients, listRows, ...followCosts(table, () => clients.findCosts(costsMs)) };
}
