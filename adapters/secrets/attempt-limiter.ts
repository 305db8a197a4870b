import { hash } from 'node:crypto';
import type { Attempts, CountedAttempt } from '../../application/ports/attempts.ts';

/** Pairs of client id and network with failed attempts. About 14 MB. */
const PAIRS_MAX = 100_000;

/** How many of the oldest pairs are compared to find one to evict. */
const EVICTION_CANDIDATES = 8;

const MINUTE_MS = 60_000;

/**
 * Beyond the limit, a pair has an attempt again after this, however low the limit is: a right secret works within 5 s
 * after a burst.
 */
const PAUSE_MS_MAX = 2_000;

/** The part of an interval by which an attempt may be early: far more than rounding errors. */
const TOLERANCE = 0.01;

interface AttemptLimiterOptions {
  /** How many attempts of a client id may fail at once at one network, and again in each minute; at least 1. */
  readonly failuresPerMinute: number;
  readonly pairsMax?: number;
  /** Monotonic time in milliseconds. */
  readonly now?: () => number;
}

/** Times of a pair, in milliseconds: when all of its attempts are available again, and when the last one began. */
interface Pair {
  readonly availableAt: number;
  readonly lastAt: number;
}

/**
 * A token bucket for each pair of client id and network, kept as the time at which all of its attempts are available
 * again (GCRA, the generic cell rate algorithm of ITU-T I.371). It refills all the time, and an empty one still gives
 * one attempt in two seconds: it paces guesses and locks nobody out. Failures at other networks do not count.
 *
 * | a pair has | that is | an attempt |
 * |---|---|---|
 * | all attempts | it is not in #pairs, or `availableAt` has passed | counts |
 * | some | `availableAt` is at most a burst ahead | counts |
 * | none | it is further ahead | counts and is one too many, once in two seconds; otherwise it is refused and does not count |
 *
 * A count is a failure until it is taken off, so an abandoned attempt is one: `availableAt` is never further ahead than
 * a burst and one interval ("lets a flood that goes on have the attempts of the time that passes, and no more"), and a
 * pair of right secrets alone is not kept ("keeps nothing of attempts that were all right, …"). Both in
 * tests/adapters/secrets/attempt-limiter.test.ts.
 */
export class AttemptLimiter implements Attempts {
  readonly #pairsMax: number;
  readonly #now: () => number;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  /** A pair without times has all attempts. */
  readonly #pairs = new Map<string, Pair>();

  constructor({ failuresPerMinute, pairsMax = PAIRS_MAX, now = () => performance.now() }: AttemptLimiterOptions) {
    this.#pairsMax = pairsMax;
    this.#now = now;
    this.#intervalMs = MINUTE_MS / failuresPerMinute;
    this.#burstMs = this.#intervalMs * (failuresPerMinute - 1 + TOLERANCE);
  }

  /** Pairs whose failed attempts are counted. */
  get pairs(): number {
    return this.#pairs.size;
  }

  get pairsMax(): number {
    return this.#pairsMax;
  }

  areLeft(clientId: string, network: string): boolean {
    const pair = this.#pairs.size === 0 ? undefined : this.#pairs.get(pairOf(clientId, network));
    return !this.#isBeyond(pair) || pair === undefined || this.#now() >= pair.lastAt + PAUSE_MS_MAX;
  }

  count(clientId: string, network: string): CountedAttempt {
    const [key, now] = [pairOf(clientId, network), this.#now()];
    const pair = this.#pairs.get(key);
    const isBeyond = this.#isBeyond(pair);
    const availableAt = Math.max(pair?.availableAt ?? now, now);
    if (pair === undefined && this.#pairs.size >= this.#pairsMax) this.#evict();
    // Beyond the limit, an attempt does not make the next ones wait longer.
    this.#pairs.set(key, { availableAt: Math.min(availableAt, now + this.#burstMs) + this.#intervalMs, lastAt: now });
    return { isBeyond, takeOff: () => this.#takeOff(key) };
  }

  #isBeyond(pair: Pair | undefined): boolean {
    return pair !== undefined && pair.availableAt - this.#now() > this.#burstMs;
  }

  #takeOff(key: string): void {
    const pair = this.#pairs.get(key);
    if (pair === undefined) return;
    const availableAt = pair.availableAt - this.#intervalMs;
    if (availableAt > this.#now()) this.#pairs.set(key, { ...pair, availableAt });
    else this.#pairs.delete(key);
  }

  /**
   * Evicts an old pair with few failures. A pair with more is kept once more (second chance), so that a caller cannot
   * make the limiter forget one by inventing client ids.
   */
  #evict(): void {
    const few = this.#now() + 2 * this.#intervalMs;
    let candidates = EVICTION_CANDIDATES;
    for (const [key, pair] of this.#pairs) {
      this.#pairs.delete(key);
      candidates -= 1;
      if (pair.availableAt <= few || candidates === 0) return;
      this.#pairs.set(key, pair);
    }
  }
}

/**
 * A digest, which has the same size for every pair and refers to no text of the request. A network has no space, so no
 * two pairs are one text.
 */
function pairOf(clientId: string, network: string): string {
  return hash('sha256', `${network} ${clientId}`, 'base64');
}
