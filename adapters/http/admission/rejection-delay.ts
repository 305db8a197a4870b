import type { Socket } from 'node:net';

/** Rejections per second on one connection that are answered without a delay. */
const REJECTIONS_PER_SECOND = 20;

/**
 * Delays repeated rejections on one connection: requests that are rejected before they cost anything could otherwise keep
 * every core busy. Tokens, and requests on other connections, are never delayed.
 */
export class RejectionDelay {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #seconds = new WeakMap<Socket, { begin: number; count: number }>();

  /** @param now monotonic time in milliseconds. */
  constructor(limit = REJECTIONS_PER_SECOND, now = () => performance.now()) {
    this.#limit = limit;
    this.#now = now;
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
    return second.count > this.#limit ? second.begin + 1_000 - now : 0;
  }
}
