import type { Problem } from '../../domain/problem.ts';

/** A value of a parameter. */
export type SqlValue = string | number | null;

/** A connection to a storage, for one user at a time. */
export interface SqlConnection {
  /** The rows of one statement with the parameters `$1`, `$2`, … */
  query<Row>(text: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;

  /** Runs statements without parameters and rows. */
  run(text: string): Promise<void>;

  /**
   * Begins a transaction that changes clients. `rows`: it locks those that it reads. `table`: nothing else changes clients until it
   * ends, and it waits for another one of this kind. The service reads meanwhile what was there before.
   */
  begin(locks: 'rows' | 'table'): Promise<void>;

  /** Who has authenticated, in a storage with roles. */
  role(): Promise<string | undefined>;

  /** Gives the connection back. @param isBroken a transaction may be open, which ends with it. */
  release(isBroken: boolean): void;
}

/** Where two databases speak differently. */
export interface SqlDialect {
  /** Compares texts byte by byte. */
  readonly bytewise: string;
  /** Locks the rows of a query until the transaction ends. */
  readonly forUpdate: string;
  readonly jsonType: string;
  /** The elements of an array of JSON, as a table with the column `value`. */
  elementsOf(parameter: string): string;
  /** The field `owner` of a column with an object; null if it has none, or is no object. */
  ownerOf(column: string): string;
}

/** A database that has the table `clients`. */
export interface SqlDatabase {
  readonly dialect: SqlDialect;
  /** Throws what `faultOf` explains. */
  connect(): Promise<SqlConnection>;
  /** Whether the table has the column `details`: another application may have created it. */
  hasDetails(connection: SqlConnection): Promise<boolean>;
  /** A fault of a connection, as the client store throws it: ValueRefused or DependencyUnavailable. A bug stays what it is. */
  readonly faultOf: (fault: unknown) => unknown;
  /** What a fault, as `faultOf` explains it, keeps this role from for good: to change clients; undefined if it may pass. */
  refusalIn(fault: unknown): Problem | undefined;
  close(): Promise<void>;
}
