import type { DatabaseSync } from 'node:sqlite';
import type { ChangeRecorder } from '../../../application/ports/change-recorder.ts';

/** Ends the transaction: commits once the change is recorded, or undoes everything if there is none. Throws what the recorder throws. */
export function commitRecorded<Change>(
  database: DatabaseSync,
  change: Change | undefined,
  recorder: ChangeRecorder<Change> | undefined,
): void {
  if (change === undefined) {
    database.exec('rollback');
    return;
  }
  recorder?.record(change, undefined);
  try {
    database.exec('commit');
  } catch (fault) {
    recorder?.unconfirmed();
    throw fault;
  }
}
