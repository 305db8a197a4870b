import { DependencyUnavailable } from '../../application/ports/dependency-unavailable.ts';
import { TableUnusable } from './fault.ts';
import type { DatabaseLog } from './health.ts';
import type { Runner } from './runner.ts';

export interface FoundTable {
  readonly exists: boolean;
  readonly readable: boolean;
  /** No policy of row-level security lets the role read a row. */
  readonly hidden: boolean;
}

/** What the search path finds under the name. Every role may read the catalog. */
export const findTable = (table: string) => {
  const found = `pg_catalog.to_regclass('$schema.${table}')`;
  return `select ${found} is not null as "exists",
    coalesce(pg_catalog.has_table_privilege(${found}, 'SELECT'), false) as "readable",
    coalesce(pg_catalog.row_security_active(${found}::oid), false) and not exists (select from pg_catalog.pg_policy
      where polrelid = ${found}::oid and polpermissive and polcmd in ('*', 'r') and exists (select
        from pg_catalog.unnest(polroles) as r where r = 0::oid or pg_catalog.pg_has_role(r, 'USAGE'))) as "hidden"`;
};

/** Milliseconds until a table that the role may not read is looked at again. */
const LOOK_AGAIN_MS = 5_000;

type Found = 'usable' | 'missing' | 'unreadable';

/**
 * A table that `npm run migrate` creates and that the service can do without. It is looked for once, when the service starts
 * or as soon as the database answers. A service that is running when the table is created uses it from its next start, so
 * nothing changes for it between the migration and the grants.
 */
export class OptionalTable {
  readonly #name: string;
  readonly #runner: Pick<Runner, 'run' | 'alsoProbe'>;
  readonly #log: DatabaseLog;
  readonly #now: () => number;
  #found: Promise<Found> | undefined;
  #lookAgainAt = Infinity;
  #isReported = false;

  /** @param now milliseconds of a monotonic clock. */
  constructor(
    name: string,
    runner: Pick<Runner, 'run' | 'alsoProbe'>,
    log: DatabaseLog,
    now = () => performance.now(),
  ) {
    this.#name = name;
    this.#runner = runner;
    this.#log = log;
    this.#now = now;
  }

  /**
   * Whether it is there. Throws DependencyUnavailable until the database has answered once, and as long as the role may not
   * read the table: nobody can tell then what is in it.
   */
  async isUsable(): Promise<boolean> {
    if (this.#now() >= this.#lookAgainAt) this.#found = undefined;
    this.#found ??= this.#look();
    const found = await this.#found;
    if (found === 'unreadable')
      throw new DependencyUnavailable(`table ${this.#name}`, new TableUnusable(this.#problem));
    return found === 'usable';
  }

  get #problem(): string {
    return `the database role may not read the table ${this.#name}`;
  }

  async #look(): Promise<Found> {
    this.#lookAgainAt = Infinity;
    try {
      const statement = { text: findTable(this.#name) };
      const [found] = await this.#runner.run<FoundTable>(statement);
      if (!found?.exists) return 'missing';
      if (found.readable) {
        this.#runner.alsoProbe(this.#name);
        return 'usable';
      }
      this.#lookAgainAt = this.#now() + LOOK_AGAIN_MS;
      if (!this.#isReported) this.#log({ event: 'table_unusable', problem: this.#problem });
      this.#isReported = true;
      return 'unreadable';
    } catch (fault) {
      this.#lookAgainAt = -Infinity;
      throw fault;
    }
  }
}
