import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../domain/stored-secret.ts';
import { PeriodicTask } from './periodic-task.ts';
import type { Dependency } from './ports/health-check.ts';

/** How long a start waits for the costs of stored secrets. With millions of rows they are known later. */
const COSTS_AWAITED_MS = 500;

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

/** Those that BCrypt can have, of costs that a storage has found as two digits. */
export function costsIn(rows: readonly { readonly cost: string }[]): readonly number[] {
  return rows.map(({ cost }) => Number(cost)).filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
}

/** Reads the BCrypt costs of a storage when it is asked to, until the storage is closed. @param findCosts as of `readCosts`. */
export function followCosts(storage: Dependency, findCosts: () => Promise<readonly number[] | undefined>) {
  let reading: PeriodicTask | undefined;
  return {
    /** Resolves after the first attempt to read the costs, and after COSTS_AWAITED_MS at the latest. */
    async readCosts(onFound: (costs: readonly number[]) => void): Promise<void> {
      reading = readCosts(findCosts, onFound);
      const { promise: waited, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, COSTS_AWAITED_MS);
      await Promise.race([reading.start(), waited]);
      clearTimeout(timer);
    },
    dependency: {
      name: storage.name,
      readiness: () => storage.readiness(),
      async close(): Promise<void> {
        reading?.close();
        await storage.close();
      },
    },
  };
}
