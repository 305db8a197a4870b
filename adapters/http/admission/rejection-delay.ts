import type { Socket } from 'node:net';

/** Refusals that one connection gets in a second; the next waits for the second to be over. */
const REFUSALS_A_SECOND = 20;

/**
 * Slows a connection that gets one refusal after the other: whoever floods us with what is refused at no cost to him would
 * else keep the cores busy with it. Tokens are never slowed, nor what comes on other connections.
 */
export class RefusalPace {
  readonly #most: number;
  readonly #now: () => number;
  readonly #seconds = new WeakMap<Socket, { begin: number; count: number }>();

  /** @param now milliseconds that only grow. */
  constructor(most = REFUSALS_A_SECOND, now = () => performance.now()) {
    this.#most = most;
    this.#now = now;
  }

  /** Counts a refusal, and answers how many milliseconds it is to wait. */
  delayMs(socket: Socket): number {
    const now = this.#now();
    const second = this.#seconds.get(socket);
    if (second === undefined || now >= second.begin + 1_000) {
      this.#seconds.set(socket, { begin: now, count: 1 });
      return 0;
    }
    second.count += 1;
    return second.count > this.#most ? second.begin + 1_000 - now : 0;
  }
}
