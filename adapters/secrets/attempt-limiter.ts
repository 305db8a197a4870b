import { hash } from 'node:crypto';
import {
  type ClosableVerificationSlots,
  type SlotRequest,
  SlotsExhausted,
  type VerificationSlot,
} from '../../application/ports/verification-slots.ts';
import type { PacedAttempts } from './paced-attempts.ts';

/** Pairs of client id and address with failed attempts. About 14 MB. */
const PAIRS_MAX = 100_000;

/** How many of the oldest pairs are compared to find one to evict. */
const EVICTION_CANDIDATES = 8;

const MINUTE_MS = 60_000;

/** How long an attempt may wait in all, in milliseconds: for its selection and then for a slot. */
const WAIT_MS = 2_000;

/** The part of an interval by which an attempt may be early: far more than rounding errors. */
const TOLERANCE = 0.01;

interface AttemptLimiterOptions {
  /** How many attempts of a client id may fail in a minute at one address; at least 1. */
  readonly failuresPerMinute: number;
  /** Where attempts beyond the limit wait. */
  readonly paced: PacedAttempts;
  readonly pairsMax?: number;
  /** Monotonic time in milliseconds. */
  readonly now?: () => number;
}

/**
 * Limits how many attempts of a client id may fail at one address. An attempt counts when it arrives, before its secret is
 * compared with anything, and is given back when the secret turns out to be right. Attempts are counted for client id and
 * address together, so failures at another address do not count.
 *
 * The limit paces attempts and never locks a client out: beyond it, attempts wait, and one of them at a time is selected at
 * random, at the rate that the limit allows.
 *
 * The count of a pair is kept as one number, the time at which all of its attempts are available again (GCRA, the generic
 * cell rate algorithm of ITU-T I.371).
 */
export class AttemptLimiter implements ClosableVerificationSlots {
  readonly #slots: ClosableVerificationSlots;
  readonly #paced: PacedAttempts;
  readonly #pairsMax: number;
  readonly #now: () => number;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  /** When all attempts of a pair are available again, in milliseconds. A pair without a time has all of them. */
  readonly #availableAt = new Map<string, number>();

  constructor(slots: ClosableVerificationSlots, options: AttemptLimiterOptions) {
    this.#slots = slots;
    this.#paced = options.paced;
    this.#pairsMax = options.pairsMax ?? PAIRS_MAX;
    this.#now = options.now ?? (() => performance.now());
    this.#intervalMs = MINUTE_MS / options.failuresPerMinute;
    this.#burstMs = MINUTE_MS - this.#intervalMs * (1 - TOLERANCE);
  }

  /** Pairs whose failed attempts are counted. */
  get pairs(): number {
    return this.#availableAt.size;
  }

  get pairsMax(): number {
    return this.#pairsMax;
  }

  hasAttemptsLeft(clientId: string, network: string): boolean {
    if (this.#availableAt.size === 0) return true;
    const pair = pairOf(clientId, network);
    return this.#isAvailable(pair);
  }

  async acquire(request: SlotRequest): Promise<VerificationSlot | 'attempts_exhausted'> {
    if (request.purpose === 'renewal') return this.#slots.acquire(request);
    const pair = pairOf(request.clientId, request.caller.network);
    if (this.#isAvailable(pair)) {
      this.#take(pair);
      const slot = await this.#slots.acquire(request);
      return slot === 'attempts_exhausted' ? slot : this.#withGiveBack(slot, pair);
    }
    const pace = { waitMs: () => this.#waitMs(pair), take: () => this.#take(pair) };
    const arrivedAt = this.#now();
    const isSelected = await this.#paced.wait(pair, request.caller.disconnected, pace);
    if (!isSelected) return 'attempts_exhausted';
    const waitMs = WAIT_MS - (this.#now() - arrivedAt);
    const slot = await this.#slots.acquire({ ...request, waitMs }).catch(exhaustedIfLate);
    return slot === 'attempts_exhausted' ? slot : this.#withGiveBack(slot, pair, 'slow_down');
  }

  close(): void {
    this.#paced.close();
    this.#slots.close();
  }

  /** An attempt must not overtake those that wait, or a flood would take all attempts that become available. */
  #isAvailable(pair: string): boolean {
    return !this.#availableAt.has(pair) || (this.#waitMs(pair) <= 0 && !this.#paced.isWaiting(pair));
  }

  /** Milliseconds until the pair has an attempt left; not positive if it has one. */
  #waitMs(pair: string): number {
    return (this.#availableAt.get(pair) ?? 0) - this.#now() - this.#burstMs;
  }

  #take(pair: string): void {
    const now = this.#now();
    const availableAt = Math.max(this.#availableAt.get(pair) ?? now, now);
    // Beyond the limit, an attempt that is selected all the same does not make the next ones wait longer.
    this.#set(pair, Math.min(availableAt, now + this.#burstMs) + this.#intervalMs);
  }

  #giveBack(pair: string): void {
    const availableAt = (this.#availableAt.get(pair) ?? 0) - this.#intervalMs;
    if (availableAt > this.#now()) this.#set(pair, availableAt);
    else this.#availableAt.delete(pair);
    this.#paced.wake(pair);
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

  /** The slot of a counted attempt. An attempt whose secret is right, or that found out nothing because of a fault, is given back. */
  #withGiveBack(slot: VerificationSlot, pair: string, refusals = slot.refusals): VerificationSlot {
    const limited = slot.refusals === 'deferred' ? slot.refusals : refusals;
    return {
      refusals: limited,
      settle: async (verdict) => {
        if (verdict === 'match') this.#giveBack(pair);
        const settled = slot.settle(verdict);
        const answered = await (refusals === 'slow_down' ? settled.catch(exhaustedIfLate) : settled);
        return answered !== 'match' && limited === 'slow_down' ? 'attempts_exhausted' : answered;
      },
      release: () => {
        this.#giveBack(pair);
        slot.release();
      },
    };
  }
}

/** An attempt beyond the limit that was not checked in time is one too many (RFC 8628 section 3.5), whatever kept the slots busy. */
function exhaustedIfLate(fault: unknown): 'attempts_exhausted' {
  if (fault instanceof SlotsExhausted) return 'attempts_exhausted';
  throw fault;
}

/** A digest, which has the same size for every pair and refers to no text of the request. A network has no space, so no two pairs are one text. */
function pairOf(clientId: string, network: string): string {
  return hash('sha256', `${network} ${clientId}`, 'base64');
}
