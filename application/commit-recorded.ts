import type { ChangeRecorder } from './ports/change-recorder.ts';

/**
 * Commits a change once it is recorded. Throws what the recorder throws, before the commit.
 *
 * @param databaseRole who has authenticated, in a storage with roles.
 * @param commit at once, or with a promise.
 */
export function commitRecorded<Change, Outcome>(
  recorder: ChangeRecorder<Change> | undefined,
  change: Change,
  databaseRole: string | undefined,
  commit: () => Outcome,
): Outcome {
  recorder?.record(change, databaseRole);
  const unconfirmed = (fault: unknown): never => {
    recorder?.unconfirmed();
    throw fault;
  };
  try {
    const outcome = commit();
    return outcome instanceof Promise ? (outcome.catch(unconfirmed) as Outcome) : outcome;
  } catch (fault) {
    return unconfirmed(fault);
  }
}
