import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../domain/stored-secret.ts';
import { PeriodicTask } from './periodic-task.ts';
import type { Dependency } from './ports/health-check.ts';

/** How long a start waits for the costs of stored secrets. With millions of rows they are known later. */
const COSTS_AWAITED_MS = 500;

/**
 * The shortest time between two attempts to read them; and each is at least so many times as long as the attempt
 * before, which may have read a large table.
 */
const RETRY_MS = 1_000;
const WAIT_PER_ATTEMPT = 30;

/** Those that BCrypt can have, of costs that a storage has found as two digits. */
export function costsIn(rows: readonly { readonly cost: string }[]): readonly number[] {
  return rows.map(({ cost }) => Number(cost)).filter((cost) => cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX);
}

/**
 * Reads once which BCrypt costs the stored secrets of a storage have: when it is asked to, or as soon as that is
 * possible, until the storage is closed.
 *
 * @param findCosts resolves with undefined if the costs could not be read. Never rejects.
 */
export function followCosts(
  storage: Dependency,
  findCosts: () => Promise<readonly number[] | undefined>,
  retryMs = RETRY_MS,
) {
  let reading: PeriodicTask | undefined;
  return {
    /** Resolves after the first attempt to read the costs, and after COSTS_AWAITED_MS at the latest. */
    async readCosts(onFound: (costs: readonly number[]) => void): Promise<void> {
      reading = new PeriodicTask(async () => {
        const begin = performance.now();
        const costs = await findCosts();
        if (costs === undefined) return Math.max(retryMs, WAIT_PER_ATTEMPT * (performance.now() - begin));
        onFound(costs);
        return undefined;
      });
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
