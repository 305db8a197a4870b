import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The interval at which Node.js samples the event loop. Its figures include the interval; ours do not. */
const SAMPLE_EVERY_MS = 20;

/** Seconds by which timers came late, by quantile: the median, the 99th percentile, and the maximum. */
export type Delays = Readonly<Record<'0.5' | '0.99' | '1', number>>;

/** The delays of the event loop for one reader: a reading resets them, and another reader must not notice. */
export class EventLoopDelay {
  readonly #delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS });
  readonly #leastMs: number;
  #readAt = -Infinity;
  #latest: Delays = { '0.5': 0, '0.99': 0, '1': 0 };

  /** @param leastMs milliseconds in which a second reading returns what the first one did. */
  constructor(leastMs = 0) {
    this.#leastMs = leastMs;
    this.#delay.enable();
  }

  /** The delays since the last reading. */
  read(): Delays {
    const now = performance.now();
    if (now - this.#readAt < this.#leastMs) return this.#latest;
    this.#readAt = now;
    const seconds = (percentile: number) =>
      Math.max(0, this.#delay.percentile(percentile) / 1e9 - SAMPLE_EVERY_MS / 1e3);
    this.#latest = { '0.5': seconds(50), '0.99': seconds(99), '1': seconds(100) };
    this.#delay.reset();
    return this.#latest;
  }
}
