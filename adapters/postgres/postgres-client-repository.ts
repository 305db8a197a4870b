import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import { isClientId } from '../../domain/client-registration.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN, type StoredSecret } from '../../domain/stored-secret.ts';
import {
  type ClientRecord,
  FIND_CLIENT,
  FIND_COSTS,
  FIND_SECRET,
  lookupOf,
  type SecretRecord,
  secretOf,
} from './client-entity.ts';
import { SQLSTATE } from './fault.ts';
import type { DatabaseLog } from './health.ts';
import type { Runner } from './runner.ts';

/**
 * Registrations in the table `clients`, which another program manages: read at every look-up, never written and never
 * cached. The entity manager is not on this path; docs/decisions/0102 has the figures.
 */
export class PostgresClientRepository implements ClientRepository {
  readonly #runner: Runner;
  readonly #log: DatabaseLog;

  constructor(runner: Runner, log: DatabaseLog) {
    this.#runner = runner;
    this.#log = log;
  }

  async findByClientId(clientId: string): Promise<ClientLookup> {
    if (!isClientId(clientId)) return { kind: 'unknown' };
    const statement = { ...FIND_CLIENT, values: [clientId] };
    const lookup = lookupOf(await this.#runner.run<ClientRecord>(statement, SQLSTATE.unstorableText), clientId);
    if (lookup.kind === 'broken') {
      this.#log({ event: 'registration_broken', client_id: clientId, ...lookup.problem });
    }
    return lookup;
  }

  async findSecret(clientId: string): Promise<StoredSecret | undefined> {
    // The driver would send half a surrogate pair as U+FFFD, which another client id may contain.
    if (!isClientId(clientId) || !clientId.isWellFormed()) return undefined;
    const statement = { ...FIND_SECRET, values: [clientId, clientId] };
    const [record] = await this.#runner.run<SecretRecord>(statement, SQLSTATE.unstorableText);
    return secretOf(record);
  }

  /** The BCrypt costs that stored secrets have; undefined if they could not be read within the deadline. */
  async findCosts(): Promise<readonly number[] | undefined> {
    const records = await this.#runner.tryRun<{ readonly cost: string }>(FIND_COSTS);
    return records
      ?.map(({ cost }) => Number(cost))
      .filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
  }
}
