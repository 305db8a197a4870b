import { LRUCache } from 'lru-cache';
import type { CallerBudget } from '../../../application/ports/caller-budget.ts';

/** Clients whose budgets are kept. One that is forgotten begins with a full budget again. */
export const CALLERS_MAX = 10_000;

interface Bucket {
  left: number;
  /** In milliseconds. */
  at: number;
}

/** So many uses a second for each client, and as many at once after a pause. */
export class TokenBucketBudget implements CallerBudget {
  readonly #perSecond: number;
  readonly #now: () => number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: CALLERS_MAX });

  /** @param perSecond 0 is no limit. @param now milliseconds of a monotonic clock. */
  constructor(perSecond: number, now = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#now = now;
  }

  get callers(): number {
    return this.#buckets.size;
  }

  take(clientId: string, uses = 1): boolean {
    if (this.#perSecond === 0) return true;
    const now = this.#now();
    const bucket = this.#buckets.get(clientId) ?? { left: this.#perSecond, at: now };
    const refilled = bucket.left + ((now - bucket.at) / 1_000) * this.#perSecond;
    bucket.left = Math.min(this.#perSecond, refilled);
    bucket.at = now;
    this.#buckets.set(clientId, bucket);
    // Never more than a full budget: otherwise a caller would wait for ever.
    const taken = Math.min(uses, this.#perSecond);
    if (bucket.left < taken) return false;
    bucket.left -= taken;
    return true;
  }
}
