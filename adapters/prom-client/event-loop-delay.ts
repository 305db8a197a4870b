import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The interval at which Node.js samples the event loop. Its figures include the interval; ours do not. */
const SAMPLE_EVERY_MS = 20;

/** Seconds by which timers came late, by quantile: the median, the 99th percentile, and the maximum. */
export type Delays = Readonly<Record<'0.5' | '0.99' | '1', number>>;

/** The delays of the event loop since the last reading, which resets them. */
export class EventLoopDelay {
  readonly #delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS });

  constructor() {
    this.#delay.enable();
  }

  read(): Delays {
    const seconds = (percentile: number) =>
      Math.max(0, this.#delay.percentile(percentile) / 1e9 - SAMPLE_EVERY_MS / 1e3);
    const delays = { '0.5': seconds(50), '0.99': seconds(99), '1': seconds(100) };
    this.#delay.reset();
    return delays;
  }
}
