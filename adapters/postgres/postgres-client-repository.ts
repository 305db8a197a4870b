import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import { isClientId } from '../../domain/client-registration.ts';
import { type ClientRecord, FIND_CLIENT, lookupOf } from './client-record.ts';
import { CLIENTS_TABLE } from './clients-table.ts';
import type { DatabaseOptions } from './database.ts';
import { isUnstorableText } from './database-fault.ts';
import type { DatabaseLog } from './database-log.ts';
import type { Readiness } from './database-watch.ts';
import { WatchedTable } from './watched-table.ts';

const NAME = 'client repository';

/**
 * Registrations in the table `clients`, which somebody else manages: read at every look-up, never written and never
 * remembered. The entity manager is not on this path; docs/decisions/0102 has the figures.
 */
export class PostgresClientRepository implements ClientRepository {
  readonly name = NAME;
  readonly #table: WatchedTable;
  readonly #log: DatabaseLog;

  private constructor(table: WatchedTable, log: DatabaseLog) {
    this.#table = table;
    this.#log = log;
  }

  /**
   * Connects, and makes the table where there is none. Where the database cannot be reached it resolves all the same
   * and goes on trying: look-ups throw DependencyUnavailable until then. Throws TableUnusable where the table is there
   * and cannot be read from, with nothing left open.
   */
  static async open(options: DatabaseOptions, log: DatabaseLog): Promise<PostgresClientRepository> {
    return new PostgresClientRepository(await WatchedTable.open(NAME, CLIENTS_TABLE, options, log), log);
  }

  async findByClientId(clientId: string): Promise<ClientLookup> {
    if (!isClientId(clientId)) return { kind: 'unknown' };
    const statement = { ...FIND_CLIENT, values: [clientId] };
    const lookup = lookupOf(await this.#table.ask<ClientRecord>(statement, isUnstorableText), clientId);
    if (lookup.kind === 'broken') {
      this.#log({ event: 'registration_broken', client_id: clientId, ...lookup.problem });
    }
    return lookup;
  }

  readiness(): Readiness {
    return this.#table.readiness();
  }

  /** Ends look-ups under way by their deadline at the latest, and closes every connection. */
  close(): Promise<void> {
    return this.#table.close();
  }
}
