import { hash } from 'node:crypto';
import type { Attempts } from '../../application/ports/attempts.ts';

/** Pairs of client id and network with failed attempts. About 14 MB. */
const PAIRS_MAX = 100_000;

/** How many of the oldest pairs are compared to find one to evict. */
const EVICTION_CANDIDATES = 8;

const MINUTE_MS = 60_000;

/** However low the limit is, a pair has an attempt again after this: a right secret works within 5 s after a burst. */
const INTERVAL_MS_MAX = 2_000;

/** The part of an interval by which an attempt may be early: far more than rounding errors. */
const TOLERANCE = 0.01;

interface AttemptLimiterOptions {
  /** How many attempts of a client id may fail at once at one network, and again in each minute; at least 1. */
  readonly failuresPerMinute: number;
  readonly pairsMax?: number;
  /** Monotonic time in milliseconds. */
  readonly now?: () => number;
}

/**
 * A token bucket for each pair of client id and network, kept as one number: the time at which all of its attempts are
 * available again (GCRA, the generic cell rate algorithm of ITU-T I.371). It refills all the time, so it paces guesses and
 * locks nobody out, and failures at other networks do not count.
 */
export class AttemptLimiter implements Attempts {
  readonly #pairsMax: number;
  readonly #now: () => number;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  /** When all attempts of a pair are available again, in milliseconds. A pair without a time has all of them. */
  readonly #availableAt = new Map<string, number>();

  constructor({ failuresPerMinute, pairsMax = PAIRS_MAX, now = () => performance.now() }: AttemptLimiterOptions) {
    this.#pairsMax = pairsMax;
    this.#now = now;
    this.#intervalMs = Math.min(MINUTE_MS / failuresPerMinute, INTERVAL_MS_MAX);
    this.#burstMs = this.#intervalMs * (failuresPerMinute - 1 + TOLERANCE);
  }

  /** Pairs whose failed attempts are counted. */
  get pairs(): number {
    return this.#availableAt.size;
  }

  get pairsMax(): number {
    return this.#pairsMax;
  }

  areLeft(clientId: string, network: string): boolean {
    if (this.#availableAt.size === 0) return true;
    return (this.#availableAt.get(pairOf(clientId, network)) ?? 0) - this.#now() <= this.#burstMs;
  }

  count(clientId: string, network: string): () => void {
    const pair = pairOf(clientId, network);
    const now = this.#now();
    const availableAt = Math.max(this.#availableAt.get(pair) ?? now, now);
    // Attempts that began at the same moment do not make the next one wait longer than an interval.
    this.#set(pair, Math.min(availableAt, now + this.#burstMs) + this.#intervalMs);
    return () => this.#takeOff(pair);
  }

  #takeOff(pair: string): void {
    const availableAt = (this.#availableAt.get(pair) ?? 0) - this.#intervalMs;
    if (availableAt > this.#now()) this.#availableAt.set(pair, availableAt);
    else this.#availableAt.delete(pair);
  }

  #set(pair: string, availableAt: number): void {
    if (!this.#availableAt.has(pair) && this.#availableAt.size >= this.#pairsMax) this.#evict();
    this.#availableAt.set(pair, availableAt);
  }

  /**
   * Evicts an old pair with few failures. A pair with more is kept once more (second chance), so that a caller cannot
   * make the limiter forget one by inventing client ids.
   */
  #evict(): void {
    const few = this.#now() + 2 * this.#intervalMs;
    let candidates = EVICTION_CANDIDATES;
    for (const [pair, availableAt] of this.#availableAt) {
      this.#availableAt.delete(pair);
      candidates -= 1;
      if (availableAt <= few || candidates === 0) return;
      this.#availableAt.set(pair, availableAt);
    }
  }
}

/** A digest, which has the same size for every pair and refers to no text of the request. A network has no space, so no two pairs are one text. */
function pairOf(clientId: string, network: string): string {
  return hash('sha256', `${network} ${clientId}`, 'base64');
}
