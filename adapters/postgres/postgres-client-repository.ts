import type { ClientLookup, ClientRepository } from '../../application/ports/client-repository.ts';
import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { isClientId } from '../../domain/client-id.ts';
import { type ClientRecord, FIND_CLIENT, lookupOf } from './client-record.ts';
import { CLIENTS_TABLE } from './clients-table.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { isUnstorableText, loggableFault } from './database-fault.ts';
import type { DatabaseLog } from './database-log.ts';
import { DatabaseTable } from './database-table.ts';
import { DatabaseWatch, type Readiness } from './database-watch.ts';
import { StatementRunner } from './statement-runner.ts';

const NAME = 'client repository';

/**
 * Registrations in the table `clients`, which somebody else manages: read at every look-up, never written and never
 * remembered. The entity manager is not on this path; docs/decisions/0102 has the figures.
 */
export class PostgresClientRepository implements ClientRepository {
  readonly name = NAME;
  readonly #database: Database;
  readonly #runner: StatementRunner;
  readonly #watch: DatabaseWatch;
  readonly #log: DatabaseLog;

  private constructor(database: Database, runner: StatementRunner, watch: DatabaseWatch, log: DatabaseLog) {
    this.#database = database;
    this.#runner = runner;
    this.#watch = watch;
    this.#log = log;
  }

  /**
   * Connects, and makes the table where there is none. Where the database cannot be reached it resolves all the same
   * and goes on trying: look-ups throw DependencyUnavailable until then. Throws TableUnusable where the table is there
   * and cannot be read from, with nothing left open.
   */
  static async open(options: DatabaseOptions, log: DatabaseLog): Promise<PostgresClientRepository> {
    const database = await Database.open(options, CLIENTS_TABLE);
    const runner = new StatementRunner(database.pool, options.deadlineMs);
    const watch = new DatabaseWatch(NAME, new DatabaseTable(CLIENTS_TABLE, database, runner), log);
    // An idle connection that the server closes is noticed before a caller meets it.
    database.pool.on('error', () => watch.suspected());
    try {
      await watch.start();
    } catch (problem) {
      await database.close();
      throw problem;
    }
    return new PostgresClientRepository(database, runner, watch, log);
  }

  async findByClientId(clientId: string): Promise<ClientLookup> {
    if (!isClientId(clientId)) return { kind: 'unknown' };
    const lookup = lookupOf(await this.#find(clientId), clientId);
    if (lookup.kind === 'broken') {
      this.#log({ event: 'registration_broken', client_id: clientId, ...lookup.problem });
    }
    return lookup;
  }

  readiness(): Readiness {
    return this.#watch.readiness();
  }

  /** Ends look-ups under way by their deadline at the latest, and closes every connection. */
  async close(): Promise<void> {
    this.#watch.close();
    await this.#database.close();
  }

  async #find(clientId: string): Promise<readonly ClientRecord[]> {
    this.#watch.assertPrepared();
    try {
      const records = await this.#runner.run<ClientRecord>({ ...FIND_CLIENT, values: [clientId] });
      this.#watch.succeeded();
      return records;
    } catch (fault) {
      if (isUnstorableText(fault)) return [];
      this.#watch.failed(fault);
      throw new DependencyUnavailable(NAME, loggableFault(fault));
    }
  }
}
