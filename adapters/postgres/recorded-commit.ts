import type { Pool, PoolClient } from 'pg';
import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';

/** Does the work with a connection, which is closed if that fails: a transaction ends with it. */
export async function withConnection<Outcome>(
  pool: Pool,
  work: (connection: PoolClient) => Promise<Outcome>,
): Promise<Outcome> {
  const connection = await pool.connect();
  try {
    const outcome = await work(connection);
    connection.release();
    return outcome;
  } catch (fault) {
    connection.release(true);
    throw fault;
  }
}

/** Commits the transaction of a connection, once its change is recorded. Throws what the recorder throws, before the commit. */
export async function commitRecorded<Change>(
  connection: PoolClient,
  change: Change | undefined,
  recorder: ChangeRecorder<Change> | undefined,
): Promise<void> {
  if (change === undefined || recorder === undefined) {
    await connection.query('commit');
    return;
  }
  // The role that has authenticated, whatever role it has taken since.
  const { rows } = await connection.query<{ readonly role: string }>('select session_user::text as "role"');
  recorder.record(change, rows[0]?.role);
  try {
    await connection.query('commit');
  } catch (fault) {
    recorder.unconfirmed();
    throw fault;
  }
}
