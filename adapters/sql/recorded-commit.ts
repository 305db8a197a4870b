import type { ChangeRecorder } from '../../application/ports/change-recorder.ts';
import type { SqlConnection } from './sql-database.ts';

/** Ends the transaction: commits once the change is recorded, or undoes everything if there is none. Throws what the recorder throws, before the commit. */
export async function commitRecorded<Change>(
  connection: SqlConnection,
  change: Change | undefined,
  recorder: ChangeRecorder<Change> | undefined,
): Promise<void> {
  if (change === undefined) return connection.run('rollback');
  if (recorder === undefined) return connection.run('commit');
  recorder.record(change, await connection.role());
  try {
    await connection.run('commit');
  } catch (fault) {
    recorder.unconfirmed();
    throw fault;
  }
}
