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

  /** The BCrypt costs that stored secrets have, without those that could not be read within the deadline. */
  async findCosts(): Promise<readonly number[]> {
    const costs: number[] = [];
    const hasSecretsWithIds = await this.#secretsWithIds.isUsable().catch(() => false);
    for (const statement of [FIND_COSTS, ...(hasSecretsWithIds ? [FIND_COSTS_WITH_IDS] : [])]) {
      const records = await this.#runner.tryRun<{ readonly cost: string }>(statement);
      costs.push(...(records ?? []).map(({ cost }) => Number(cost)));
    }
    return costs.filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }

  /** The credentials that expire soon; undefined if they could not be counted. */
  async countExpiring(): Promise<ExpiringCredentials | undefined> {
    if (!(await this.#secretsWithIds.isUsable().catch(() => false))) return undefined;
    const counts: number[] = [];
    for (const table of ['client_secrets', 'client_keys'] as const) {
      const statement = { ...countExpiring(table), values: [String(EXPIRES_SOON_SECONDS)] };
      const [row] = (await this.#runner.tryRun<{ readonly count: number }>(statement)) ?? [];
      if (row !== undefined) counts.push(row.count);
    }
    const [secrets, keys] = counts;
    return secrets === undefined || keys === undefined ? undefined : { secrets, keys };
  }
}
