import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import type { KeyDirectory, TrustedKey } from '../../application/ports/key-directory.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { loggableFault } from './database-fault.ts';
import type { DatabaseLog } from './database-log.ts';
import { DatabaseTable } from './database-table.ts';
import { DatabaseWatch, type Readiness } from './database-watch.ts';
import { findTrustedKeys, publishKeys, type SigningKeyRecord, trustedKeysOf } from './signing-key-record.ts';
import { SIGNING_KEYS_TABLE } from './signing-keys-table.ts';
import { type Statement, StatementRunner } from './statement-runner.ts';

const NAME = 'key directory';

/** Public keys in the table `signing_keys`, which replicas share and nobody else writes. */
export class PostgresKeyDirectory implements KeyDirectory {
  readonly name = NAME;
  readonly #database: Database;
  readonly #runner: StatementRunner;
  readonly #watch: DatabaseWatch;

  private constructor(database: Database, runner: StatementRunner, watch: DatabaseWatch) {
    this.#database = database;
    this.#runner = runner;
    this.#watch = watch;
  }

  /**
   * Connects, and makes the table where there is none. Where the database cannot be reached it resolves all the same
   * and goes on trying: everything throws DependencyUnavailable until then. Throws TableUnusable where the table is
   * there and cannot be used, with nothing left open.
   */
  static async open(options: DatabaseOptions, log: DatabaseLog): Promise<PostgresKeyDirectory> {
    const database = await Database.open(options, SIGNING_KEYS_TABLE);
    const runner = new StatementRunner(database.pool, options.deadlineMs);
    const watch = new DatabaseWatch(NAME, new DatabaseTable(SIGNING_KEYS_TABLE, database, runner), log);
    database.pool.on('error', () => watch.suspected());
    try {
      await watch.start();
    } catch (problem) {
      await database.close();
      throw problem;
    }
    return new PostgresKeyDirectory(database, runner, watch);
  }

  publish(keys: readonly TrustedKey[], now: number): Promise<readonly TrustedKey[]> {
    return this.#ask(publishKeys(keys, now));
  }

  trusted(now: number): Promise<readonly TrustedKey[]> {
    return this.#ask(findTrustedKeys(now));
  }

  /** How the database is. Not whether the service is ready: with the keys that it knows it does without. */
  readiness(): Readiness {
    return this.#watch.readiness();
  }

  /** Ends statements under way by their deadline at the latest, and closes every connection. */
  async close(): Promise<void> {
    this.#watch.close();
    await this.#database.close();
  }

  async #ask(statement: Statement): Promise<readonly TrustedKey[]> {
    this.#watch.assertPrepared();
    try {
      const records = await this.#runner.run<SigningKeyRecord>(statement);
      this.#watch.succeeded();
      return trustedKeysOf(records);
    } catch (fault) {
      this.#watch.failed(fault);
      throw new DependencyUnavailable(NAME, loggableFault(fault));
    }
  }
}
