import { Batches } from '../../application/batches.ts';
import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import { EXPIRES_SOON_SECONDS, type ExpiringCredentials } from '../../domain/client-details.ts';
import { isClientId } from '../../domain/client-registration.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, type StoredSecret } from '../../domain/stored-secret.ts';
import {
  CLIENT_ROWS_MAX,
  type ClientRecord,
  countExpiring,
  FIND_CLIENT_BY_SECRET,
  FIND_CLIENTS,
  FIND_COSTS,
  FIND_COSTS_WITH_IDS,
  FIND_SECRET,
  FIND_SECRET_BY_ID,
  lookupOf,
  type SecretRecord,
  secretOf,
  WHOLE_TABLE_MS,
} from './client-entity.ts';
import { SQLSTATE, unlessOneValue } from './fault.ts';
import type { DatabaseLog } from './health.ts';
import type { Runner } from './runner.ts';

/** The most look-ups of one statement. Each id can have two rows, to notice that it is not unique. */
const LOOK_UPS_MAX = CLIENT_ROWS_MAX / 2 - 1;

interface LookUp {
  readonly clientId: string;
  /** In milliseconds of `performance`. */
  readonly begin: number;
}

type Records = readonly ClientRecord[];

interface CostRecord {
  readonly cost: string;
}

/**
 * Registrations in the table `clients`, which another program manages: read at every look-up, never written and never
 * cached. Concurrent look-ups share a statement, which none joins that began after it was sent. The entity manager is not on
 * this path; docs/decisions/0102 and 0124 have the figures.
 */
export class PostgresClientRepository implements ClientRepository {
  readonly #clients: Runner;
  /** For statements that read the secrets with ids too. */
  readonly #secretsWithIds: Runner;
  readonly #log: DatabaseLog;
  readonly #lookUps = new Batches((lookUps: readonly LookUp[]) => this.#findAll(lookUps), { max: LOOK_UPS_MAX });

  constructor(clients: Runner, secretsWithIds: Runner, log: DatabaseLog) {
    this.#clients = clients;
    this.#secretsWithIds = secretsWithIds;
    this.#log = log;
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    // The driver would send half a surrogate pair as U+FFFD: such an id cannot be stored.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return { kind: 'unknown' };
    const bySecret = { ...FIND_CLIENT_BY_SECRET, values: [clientId, clientId, secretId ?? ''] };
    const records =
      secretId !== undefined && this.#secretsWithIds.isThere()
        ? await this.#secretsWithIds.run<ClientRecord>(bySecret, SQLSTATE.unstorableText)
        : await this.#lookUps.add({ clientId, begin: performance.now() });
    const lookup = lookupOf(records, clientId);
    if (lookup.kind === 'broken') {
      this.#log({ event: 'registration_broken', client_id: clientId, ...lookup.problem });
    }
    return lookup;
  }

  /** The rows of each id: all in one statement, or each alone if the server refuses one of them or has too many rows. */
  async #findAll(lookUps: readonly LookUp[]): Promise<readonly (Records | Promise<Records>)[]> {
    const begin = lookUps[0]?.begin;
    const ids = [...new Set(lookUps.map(({ clientId }) => clientId))];
    const find = (some: string[], empty?: RegExp) =>
      this.#clients.run<ClientRecord>({ ...FIND_CLIENTS, values: [some] }, empty, begin);
    if (ids.length > 1) {
      const rows = await find(ids).catch(unlessOneValue);
      if (rows !== undefined && rows.length < CLIENT_ROWS_MAX) {
        const byId = Map.groupBy(rows, ({ clientId }) => clientId);
        return lookUps.map(({ clientId }) => byId.get(clientId) ?? []);
      }
    }
    const alone = new Map(ids.map((id) => [id, find([id], SQLSTATE.unstorableText)]));
    return lookUps.map(({ clientId }) => alone.get(clientId) ?? []);
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    // The driver would send half a surrogate pair as U+FFFD, which another client id may contain.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return undefined;
    const [runner, statement] =
      secretId !== undefined && this.#secretsWithIds.isThere()
        ? [this.#secretsWithIds, { ...FIND_SECRET_BY_ID, values: [clientId, clientId, secretId] }]
        : [this.#clients, { ...FIND_SECRET, values: [clientId, clientId] }];
    const [record] = await runner.run<SecretRecord>(statement, SQLSTATE.unstorableText);
    return secretOf(record);
  }

  /** The BCrypt costs that stored secrets have; undefined if they could not be read within WHOLE_TABLE_MS. */
  async findCosts(): Promise<readonly number[] | undefined> {
    const ofClients = await this.#clients.tryRun<CostRecord>(FIND_COSTS, WHOLE_TABLE_MS);
    const ofSecrets = await this.#secretsWithIds.tryRun<CostRecord>(FIND_COSTS_WITH_IDS, WHOLE_TABLE_MS);
    if (ofClients === undefined || ofSecrets === undefined) return undefined;
    const costs = [...ofClients, ...ofSecrets].map(({ cost }) => Number(cost));
    return costs.filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }

  /** The credentials that expire soon, without those that could not be counted. */
  async countExpiring(): Promise<Partial<ExpiringCredentials>> {
    const [secrets, keys] = [await this.#count('client_secrets'), await this.#count('client_keys')];
    return { ...(secrets !== undefined && { secrets }), ...(keys !== undefined && { keys }) };
  }

  async #count(table: 'client_secrets' | 'client_keys'): Promise<number | undefined> {
    const statement = { ...countExpiring(table), values: [String(EXPIRES_SOON_SECONDS)] };
    const [row] = (await this.#secretsWithIds.tryRun<{ readonly count: number }>(statement)) ?? [];
    return row?.count;
  }
}
