import { CLIENT_COLUMNS } from './client-schema.ts';
import { isCreationDenied, isMadeMeanwhile } from './database-fault.ts';
import type { StatementRunner } from './statement-runner.ts';
import { TableUnusable } from './table-unusable.ts';

interface Column {
  readonly name: string;
  readonly readable: boolean;
}

/** What the search path finds under the name, and what this role may do with it. The catalog is open to every role. */
const COLUMNS_OF_CLIENTS = `select attname::text as "name", has_column_privilege(attrelid, attnum, 'SELECT') as "readable"
  from pg_catalog.pg_attribute where attrelid = to_regclass('clients') and attnum > 0 and not attisdropped`;

/** Where the registrations stand. It is made where it is missing, and never altered. */
export class ClientsTable {
  readonly #runner: StatementRunner;
  readonly #createSql: () => Promise<string>;

  constructor(runner: StatementRunner, createSql: () => Promise<string>) {
    this.#runner = runner;
    this.#createSql = createSql;
  }

  /**
   * Makes the table where there is none, and checks it where there is one. Two replicas that start at once both find it
   * made. Throws TableUnusable, and the driver's errors.
   */
  async prepare(): Promise<'created' | 'found'> {
    if ((await this.#columns()).length === 0 && (await this.#create())) return 'created';
    await this.check();
    return 'found';
  }

  /** Throws TableUnusable where the table is missing, lacks a column or may not be read, and the driver's errors. */
  async check(): Promise<void> {
    const columns = await this.#columns();
    if (columns.length === 0) throw new TableUnusable('table clients does not exist');
    const missing = CLIENT_COLUMNS.filter((name) => !columns.some((column) => column.name === name));
    if (missing.length > 0) throw new TableUnusable(`table clients lacks the column ${missing.join(', ')}`);
    const closed = CLIENT_COLUMNS.filter((name) => !columns.some((column) => column.name === name && column.readable));
    if (closed.length > 0) {
      throw new TableUnusable(`the database role may not read the column ${closed.join(', ')} of table clients`);
    }
  }

  #columns(): Promise<readonly Column[]> {
    return this.#runner.run<Column>({ text: COLUMNS_OF_CLIENTS });
  }

  /** False where somebody else was faster. The text is one round trip, and so one transaction. */
  async #create(): Promise<boolean> {
    try {
      await this.#runner.run({ text: await this.#createSql() });
      return true;
    } catch (fault) {
      if (isMadeMeanwhile(fault)) return false;
      if (isCreationDenied(fault)) {
        throw new TableUnusable('table clients does not exist, and the database role may not create it');
      }
      throw fault;
    }
  }
}
