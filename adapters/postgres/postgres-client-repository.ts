import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import { EXPIRES_SOON_SECONDS, type ExpiringCredentials } from '../../domain/client-details.ts';
import { isClientId } from '../../domain/client-registration.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, type StoredSecret } from '../../domain/stored-secret.ts';
import {
  type ClientRecord,
  countExpiring,
  FIND_CLIENT,
  FIND_CLIENT_BY_SECRET,
  FIND_COSTS,
  FIND_COSTS_WITH_IDS,
  FIND_SECRET,
  FIND_SECRET_BY_ID,
  lookupOf,
  type SecretRecord,
  secretOf,
} from './client-entity.ts';
import { SQLSTATE } from './fault.ts';
import type { DatabaseLog } from './health.ts';
import { OptionalTable } from './optional-table.ts';
import type { Runner } from './runner.ts';

/**
 * Registrations in the table `clients`, which another program manages: read at every look-up, never written and never
 * cached. The entity manager is not on this path; docs/decisions/0102 has the figures.
 */
export class PostgresClientRepository implements ClientRepository {
  readonly #runner: Runner;
  readonly #log: DatabaseLog;
  readonly #secretsWithIds: OptionalTable;

  constructor(runner: Runner, log: DatabaseLog) {
    this.#runner = runner;
    this.#log = log;
    this.#secretsWithIds = new OptionalTable('client_secrets', runner, log);
    // So that no request waits for it. If the database does not answer yet, the first request that needs it asks again.
    this.#secretsWithIds.isUsable().catch(() => {});
  }

  async findByClientId(clientId: string, secretId?: string): Promise<ClientLookup> {
    if (!isClientId(clientId)) return { kind: 'unknown' };
    const statement =
      secretId !== undefined && (await this.#secretsWithIds.isUsable())
        ? { ...FIND_CLIENT_BY_SECRET, values: [clientId, clientId, secretId] }
        : { ...FIND_CLIENT, values: [clientId] };
    const lookup = lookupOf(await this.#runner.run<ClientRecord>(statement, SQLSTATE.unstorableText), clientId);
    if (lookup.kind === 'broken') {
      this.#log({ event: 'registration_broken', client_id: clientId, ...lookup.problem });
    }
    return lookup;
  }

  async findSecret(clientId: string, secretId?: string): Promise<StoredSecret | undefined> {
    // The driver would send half a surrogate pair as U+FFFD, which another client id may contain.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return undefined;
    const statement =
      secretId !== undefined && (await this.#secretsWithIds.isUsable())
        ? { ...FIND_SECRET_BY_ID, values: [clientId, clientId, secretId] }
        : { ...FIND_SECRET, values: [clientId, clientId] };
    const [record] = await this.#runner.run<SecretRecord>(statement, SQLSTATE.unstorableText);
    return secretOf(record);
  }

  /** The BCrypt costs that stored secrets have; undefined if they could not be read within the deadline. */
  async findCosts(): Promise<readonly number[] | undefined> {
    const costs: number[] = [];
    const hasSecretsWithIds = await this.#secretsWithIds.isUsable().catch(() => undefined);
    if (hasSecretsWithIds === undefined) return undefined;
    for (const statement of [FIND_COSTS, ...(hasSecretsWithIds ? [FIND_COSTS_WITH_IDS] : [])]) {
      const records = await this.#runner.tryRun<{ readonly cost: string }>(statement);
      if (records === undefined) return undefined;
      costs.push(...records.map(({ cost }) => Number(cost)));
    }
    return costs.filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }

  /** The credentials that expire soon, without those that could not be counted. */
  async countExpiring(): Promise<Partial<ExpiringCredentials>> {
    // The tables come with one migration.
    if (!(await this.#secretsWithIds.isUsable().catch(() => false))) return {};
    const [secrets, keys] = [await this.#count('client_secrets'), await this.#count('client_keys')];
    return { ...(secrets !== undefined && { secrets }), ...(keys !== undefined && { keys }) };
  }

  async #count(table: 'client_secrets' | 'client_keys'): Promise<number | undefined> {
    const statement = { ...countExpiring(table), values: [String(EXPIRES_SOON_SECONDS)] };
    const [row] = (await this.#runner.tryRun<{ readonly count: number }>(statement)) ?? [];
    return row?.count;
  }
}
