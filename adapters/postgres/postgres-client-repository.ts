import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import { isClientId } from '../../domain/client-registration.ts';
import { type ClientRecord, FIND_CLIENT, lookupOf } from './client-entity.ts';
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
}
