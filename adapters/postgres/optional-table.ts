import type { DatabaseLog } from './health.ts';
import type { Runner } from './runner.ts';

/** What the search path finds under the name. Every role may read the catalog. */
const FIND_TABLE = `select to_regclass($1) is not null as "exists",
  coalesce(has_table_privilege(to_regclass($1), 'SELECT'), false) as "readable"`;

/**
 * A table that `npm run migrate` creates and that the service can do without. It is looked for once, when the service starts
 * or as soon as the database answers; a service that is running when the table is created uses it from its next start.
 */
export class OptionalTable {
  readonly #name: string;
  readonly #runner: Runner;
  readonly #log: DatabaseLog;
  #usable: Promise<boolean> | undefined;

  constructor(name: string, runner: Runner, log: DatabaseLog) {
    this.#name = name;
    this.#runner = runner;
    this.#log = log;
  }

  /** Whether it is there and may be read. Throws DependencyUnavailable until the database has answered once. */
  isUsable(): Promise<boolean> {
    this.#usable ??= this.#find().catch((fault) => {
      this.#usable = undefined;
      throw fault;
    });
    return this.#usable;
  }

  async #find(): Promise<boolean> {
    const statement = { text: FIND_TABLE, values: [this.#name] };
    const [found] = await this.#runner.run<{ readonly exists: boolean; readonly readable: boolean }>(statement);
    if (found?.exists && !found.readable) {
      this.#log({ event: 'table_unusable', problem: `the database role may not read the table ${this.#name}` });
    }
    return found?.readable ?? false;
  }
}
