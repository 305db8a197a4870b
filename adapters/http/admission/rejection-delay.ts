import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const REJECTION_LIMITS = {
  /** Rejections per second on one connection that are answered without a delay. */
  perSecond: 20,
  /** Rejections that wait at once, on all connections. */
  waiting: 1_000,
};

/**
 * Delays repeated rejections on one connection: requests that are rejected before they cost anything could otherwise
 * keep every core busy. Tokens, and requests on other connections, are never delayed.
 */
export class RejectionDelay {
  readonly #limits: typeof REJECTION_LIMITS;
  readonly #now: () => number;
  readonly #seconds = new WeakMap<Socket, { begin: number; count: number }>();
  #waiting = 0;

  /** @param now monotonic time in milliseconds. */
  constructor(limits = REJECTION_LIMITS, now = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Rejections that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  get max(): number {
    return this.#limits.waiting;
  }

  /** Whether no further rejection may wait. It is sent at once then, and ends its connection. */
  get full(): boolean {
    return this.#waiting >= this.#limits.waiting;
  }

  /** Counts a rejection and returns how many milliseconds to wait before it is sent. */
  delayMs(socket: Socket): number {
    const now = this.#now();
    const second = this.#seconds.get(socket);
    if (second === undefined || now >= second.begin + 1_000) {
      this.#seconds.set(socket, { begin: now, count: 1 });
      return 0;
    }
    second.count += 1;
    return second.count > this.#limits.perSecond ? second.begin + 1_000 - now : 0;
  }

  async wait(milliseconds: number): Promise<void> {
    this.#waiting += 1;
    await delay(milliseconds);
    this.#waiting -= 1;
  }
}
