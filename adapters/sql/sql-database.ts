import type { Compilable, Kysely, RawBuilder } from 'kysely';
import type { Problem } from '../../domain/problem.ts';
import type { Tables } from './entities.ts';

/** Builds statements, typed by the tables, for a `SqlTables` or a `SqlConnection` to run: it has no connection. */
export type StatementBuilder = Kysely<Tables>;

/** Where two databases speak differently. */
export interface SqlDialect {
  /** The client id, to be compared byte by byte. */
  readonly clientId: RawBuilder<string>;
  /** Whether rows are locked one by one: otherwise a transaction locks the file. */
  readonly locksRows: boolean;
  /** The type of the documents. */
  readonly document: RawBuilder<unknown>;
  /** The elements of an array of JSON, as a table with the column `value`. */
  elementsOf(array: string): RawBuilder<unknown>;
  /** The field `owner` of the details; null if they have none, or are no object. */
  readonly owner: RawBuilder<string | null>;
  /** The number of rows. */
  readonly count: RawBuilder<number>;
  /** The time of the database in whole seconds since the epoch. It goes on while a transaction waits for a lock. */
  readonly now: RawBuilder<string>;
  /** The same with fractions. */
  readonly exactNow: RawBuilder<string>;
}

/** What builds statements for a database. */
export interface SqlBuilder {
  readonly db: StatementBuilder;
  readonly dialect: SqlDialect;
}

/** Tables that are open. Each statement runs alone, and may be repeated. */
export interface SqlTables extends SqlBuilder {
  /** Throws DependencyUnavailable. */
  query<Row>(statement: Compilable<Row>): Promise<readonly Row[]>;
}

/** A connection to a storage, for one user at a time. */
export interface SqlConnection {
  query<Row>(statement: Compilable<Row>): Promise<readonly Row[]>;

  /**
   * Begins a transaction that changes clients. `rows`: it locks those that it reads. `table`: nothing else changes
   * clients until it ends, and it waits for another one of this kind. The service reads meanwhile what was there
   * before.
   */
  begin(locks: 'rows' | 'table'): Promise<void>;

  end(how: 'commit' | 'rollback'): Promise<void>;

  /** Who has authenticated, in a storage with roles. */
  role(): Promise<string | undefined>;

  /** Gives the connection back. @param isBroken a transaction may be open, which ends with it. */
  release(isBroken: boolean): void;
}

/** A database that a program works on. */
export interface SqlDatabase extends SqlBuilder {
  /** Throws what `faultOf` explains. */
  connect(): Promise<SqlConnection>;
  /** A fault of a connection, as a port promises it. A bug stays what it is. */
  readonly faultOf: (fault: unknown) => unknown;
  /** Whether a fault, as `faultOf` explains it, means that the table was never created. */
  isMissing(fault: unknown): boolean;
  close(): Promise<void>;
}

/** A database that has the table `clients`. */
export interface ClientsDatabase extends SqlDatabase {
  /** Whether the table has the columns `credentials` and `details`: another application may have created it. */
  hasDetails(connection: SqlConnection): Promise<boolean>;
  /** What a fault, as `faultOf` explains it, keeps this role from: to change clients; undefined if it may pass. */
  refusalIn(fault: unknown): Problem | undefined;
}
