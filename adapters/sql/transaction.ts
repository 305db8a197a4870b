import type { Compilable } from 'kysely';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type { SqlConnection, SqlDatabase, SqlTables } from './sql-database.ts';

/** Runs work on a connection, and gives it back. Throws what the database makes of a fault. */
export async function withConnection<Outcome>(
  database: Pick<SqlDatabase, 'connect' | 'faultOf'>,
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
 * Ends a transaction: commits once the change is recorded, or undoes everything if there is none. Throws what the
 * recorder throws, before the commit.
 *
 * @param onCommit called before the commit.
 */
export async function endTransaction<Change>(
  connection: SqlConnection,
  change: Change | undefined,
  recorder: ChangeRecorder<Change> | undefined,
  onCommit?: () => void,
): Promise<void> {
  if (change === undefined) return connection.end('rollback');
  await recorder?.record(change, await connection.role());
  onCommit?.();
  try {
    await connection.end('commit');
  } catch (fault) {
    recorder?.unconfirmed();
    throw fault;
  }
}

/** The tables of a database, with statements that run alone, each on its own connection. */
export function tablesOf<Database extends SqlDatabase>(database: Database): Database & SqlTables {
  const query = <Row>(statement: Compilable<Row>) =>
    withConnection(database, (connection) => connection.query(statement));
  return { ...database, query };
}
