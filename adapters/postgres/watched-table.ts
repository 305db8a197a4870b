import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { loggableFault } from './database-fault.ts';
import type { DatabaseLog } from './database-log.ts';
import { DatabaseTable } from './database-table.ts';
import { DatabaseWatch, type Readiness } from './database-watch.ts';
import { type Statement, StatementRunner } from './statement-runner.ts';
import type { TableDefinition } from './table-definition.ts';

/** One table on connections of its own, and the watch over them: what is asked of it, and how it is. */
export class WatchedTable {
  readonly #dependency: string;
  readonly #database: Database;
  readonly #runner: StatementRunner;
  readonly #watch: DatabaseWatch;

  private constructor(dependency: string, database: Database, runner: StatementRunner, watch: DatabaseWatch) {
    this.#dependency = dependency;
    this.#database = database;
    this.#runner = runner;
    this.#watch = watch;
  }

  /**
   * Connects, and makes the table where there is none. Where the database cannot be reached it resolves all the same
   * and goes on trying. Throws TableUnusable where the table is there and cannot be used, with nothing left open.
   *
   * @param dependency what the table is for, in an operator's word.
   */
  static async open(
    dependency: string,
    definition: TableDefinition,
    options: DatabaseOptions,
    log: DatabaseLog,
  ): Promise<WatchedTable> {
    const database = await Database.open(options, definition);
    const runner = new StatementRunner(database.pool, options.deadlineMs);
    const watch = new DatabaseWatch(dependency, new DatabaseTable(definition, database, runner), log);
    // An idle connection that the server closes is noticed before a caller meets it.
    database.pool.on('error', () => watch.suspected());
    try {
      await watch.start();
    } catch (problem) {
      await database.close();
      throw problem;
    }
    return new WatchedTable(dependency, database, runner, watch);
  }

  /**
   * The rows. Throws DependencyUnavailable, by the deadline at the latest.
   *
   * @param isNothing whether a fault says that there can be no row, and nothing of the database.
   */
  async ask<Row>(statement: Statement, isNothing: (fault: unknown) => boolean = () => false): Promise<readonly Row[]> {
    this.#watch.assertPrepared();
    try {
      const rows = await this.#runner.run<Row>(statement);
      this.#watch.succeeded();
      return rows;
    } catch (fault) {
      if (isNothing(fault)) return [];
      this.#watch.failed(fault);
      throw new DependencyUnavailable(this.#dependency, loggableFault(fault));
    }
  }

  readiness(): Readiness {
    return this.#watch.readiness();
  }

  /** Ends statements under way by their deadline at the latest, and closes every connection. */
  async close(): Promise<void> {
    this.#watch.close();
    await this.#database.close();
  }
}
