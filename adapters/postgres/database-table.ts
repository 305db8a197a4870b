import type { Database } from './database.ts';
import { isCreationDenied, isMadeMeanwhile } from './database-fault.ts';
import type { StatementRunner } from './statement-runner.ts';
import type { TableDefinition } from './table-definition.ts';
import { TableUnusable } from './table-unusable.ts';

interface Column {
  readonly name: string;
  readonly readable: boolean;
  readonly writable: boolean;
}

/** What the search path finds under the name, and what this role may do with it. The catalog is open to every role. */
const COLUMNS_OF_TABLE = `select attname::text as "name",
    has_column_privilege(attrelid, attnum, 'SELECT') as "readable",
    has_table_privilege(attrelid, 'INSERT') and has_table_privilege(attrelid, 'UPDATE')
      and has_table_privilege(attrelid, 'DELETE') as "writable"
  from pg_catalog.pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`;

/** A table that the service needs. It is made where it is missing, and never altered. */
export class DatabaseTable {
  readonly #definition: TableDefinition;
  readonly #database: Database;
  readonly #runner: StatementRunner;

  constructor(definition: TableDefinition, database: Database, runner: StatementRunner) {
    this.#definition = definition;
    this.#database = database;
    this.#runner = runner;
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

  /** Throws TableUnusable where the table is missing, lacks a column or may not be used, and the driver's errors. */
  async check(): Promise<void> {
    const { name: table, columns: needed, access } = this.#definition;
    const columns = await this.#columns();
    if (columns.length === 0) throw new TableUnusable(`table ${table} does not exist`);
    const missing = needed.filter((name) => !columns.some((column) => column.name === name));
    if (missing.length > 0) throw new TableUnusable(`table ${table} lacks the column ${missing.join(', ')}`);
    const closed = needed.filter((name) => !columns.some((column) => column.name === name && column.readable));
    if (closed.length > 0) {
      throw new TableUnusable(`the database role may not read the column ${closed.join(', ')} of table ${table}`);
    }
    if (access === 'read and write' && columns.some(({ writable }) => !writable)) {
      throw new TableUnusable(`the database role may not insert, update and delete rows of table ${table}`);
    }
  }

  #columns(): Promise<readonly Column[]> {
    return this.#runner.run<Column>({ text: COLUMNS_OF_TABLE, values: [this.#definition.name] });
  }

  /** False where somebody else was faster. The text is one round trip, and so one transaction. */
  async #create(): Promise<boolean> {
    const { name } = this.#definition;
    try {
      await this.#runner.run({ text: await this.#database.createTableSql() });
      return true;
    } catch (fault) {
      if (isMadeMeanwhile(fault)) return false;
      if (isCreationDenied(fault)) {
        throw new TableUnusable(`table ${name} does not exist, and the database role may not create it`);
      }
      throw fault;
    }
  }
}
