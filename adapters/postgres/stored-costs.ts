import { PeriodicTask } from '../../application/periodic-task.ts';

/** After a failure, the next attempt starts this long after the last one, then after twice as long, up to the longest. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 300_000;

/** A wait is at least so many times as long as the attempt before it, which may have read a large table. */
const WAIT_PER_ATTEMPT = 30;

/**
 * Reads once which BCrypt costs stored secrets have: when it is started, or as soon as that is possible.
 * @param find resolves with undefined if the costs could not be read. Never rejects.
 */
export function readCosts(
  find: () => Promise<readonly number[] | undefined>,
  onFound: (costs: readonly number[]) => void,
  firstRetryMs = FIRST_RETRY_MS,
): PeriodicTask {
  let nextMs = firstRetryMs;
  return new PeriodicTask(async () => {
    const begin = performance.now();
    const costs = await find();
    if (costs !== undefined) {
      onFound(costs);
      return undefined;
    }
    const retryMs = Math.max(nextMs, WAIT_PER_ATTEMPT * (performance.now() - begin));
    nextMs = Math.min(2 * nextMs, LAST_RETRY_MS);
    return retryMs;
  });
}
