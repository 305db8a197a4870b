import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type { SqlConnection, SqlValue } from './sql-database.ts';

/** What `withConnection` needs of a database. */
interface Connectable {
  connect(): Promise<SqlConnection>;
  faultOf(fault: unknown): unknown;
}

/** Runs work on a connection, and gives it back. Throws what the database makes of a fault. */
export async function withConnection<Outcome>(
  database: Connectable,
  work: (connection: SqlConnection) => Promise<Outcome>,
): Promise<Outcome> {
  let connection: SqlConnection | undefined;
  try {
    connection = await database.connect();
    const outcome = await work(connection);
    connection.release(false);
    return outcome;
  } catch (fault) {
    connection?.release(true);
    throw database.faultOf(fault);
  }
}

/**
 * Ends a transaction: commits once the change is recorded, or undoes everything if there is none. Throws what the recorder throws, before
 * the commit.
 *
 * @param onCommit called before the commit.
 */
export async function endTransaction<Change>(
  connection: SqlConnection,
  change: Change | undefined,
  recorder: ChangeRecorder<Change> | undefined,
  onCommit?: () => void,
): Promise<void> {
  if (change === undefined) return connection.run('rollback');
  await recorder?.record(change, await connection.role());
  onCommit?.();
  try {
    await connection.run('commit');
  } catch (fault) {
    recorder?.unconfirmed();
    throw fault;
  }
}

/** The database with statements that run alone, each on its own connection. */
export function queryable<Database extends Connectable>(database: Database) {
  const query = <Row>(text: string, values: readonly SqlValue[] = []) =>
    withConnection(database, (connection) => connection.query<Row>(text, values));
  return { ...database, query };
}
