import type { ExpiringCredentials } from '../domain/client-details.ts';
import { PeriodicTask } from './periodic-task.ts';
import type { Dependency } from './ports/health-check.ts';

/** Between two counts of what expires within 30 days, which changes slowly: nobody who reads the metrics waits for the storage. */
const EXPIRING_COUNTED_EVERY_MS = 60_000;

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

/** What is read of all registrations, beside requests. Neither rejects. */
interface FigureReaders {
  /** The credentials that expire soon, without those that could not be counted. */
  countExpiring(): Promise<Partial<ExpiringCredentials>>;
  /** The BCrypt costs of stored secrets; undefined if they could not be read. */
  findCosts(): Promise<readonly number[] | undefined>;
}

/** Counts from now on, and reads the costs when it is asked to, until the storage is closed. */
export function followFigures(storage: Dependency, { countExpiring, findCosts }: FigureReaders) {
  let expiring: Partial<ExpiringCredentials> = {};
  const counting = new PeriodicTask(async () => {
    expiring = await countExpiring();
    return EXPIRING_COUNTED_EVERY_MS;
  });
  const tasks = [counting];
  void counting.start();
  return {
    /** The last count, without what could not be counted: a count that failed, or a table that is missing. */
    expiring: () => expiring,
    /** Resolves after the first attempt to read the costs, and after COSTS_AWAITED_MS at the latest. */
    async readCosts(onFound: (costs: readonly number[]) => void): Promise<void> {
      const reading = readCosts(findCosts, onFound);
      tasks.push(reading);
      const { promise: waited, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, COSTS_AWAITED_MS);
      await Promise.race([reading.start(), waited]);
      clearTimeout(timer);
    },
    dependency: {
      name: storage.name,
      readiness: () => storage.readiness(),
      async close(): Promise<void> {
        for (const task of tasks) task.close();
        await storage.close();
      },
    },
  };
}
