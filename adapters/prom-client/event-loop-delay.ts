import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, Registry } from '@prometheus-io/client';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

/** The interval at which Node.js samples the event loop. Its figures include the interval; ours do not. */
const SAMPLE_EVERY_MS = 20;

/** Label `quantile` and percentile; the last is the maximum. */
const QUANTILES = [
  ['0.5', 50],
  ['0.99', 99],
  ['1', 100],
] as const;

/** The delays of the event loop for one reader: a reading resets them, and another reader must not notice. */
export class EventLoopDelay {
  readonly #registry = new Registry();
  readonly #delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS });
  readonly #leastMs: number;
  readonly #gauge: Gauge<'process' | 'quantile'>;
  readonly #process: string;
  #readAt = -Infinity;

  /** @param leastMs milliseconds in which a second reading returns what the first one did. */
  constructor(process: string, leastMs = 0) {
    this.#process = process;
    this.#leastMs = leastMs;
    this.#gauge = new Gauge({
      name: 'auth_event_loop_delay_seconds',
      help: 'Seconds by which timers came late since the last scrape: median, 99th percentile and (1) maximum.',
      labelNames: ['process', 'quantile'],
      registers: [this.#registry],
    });
    this.#delay.enable();
  }

  /** The delays since the last reading. */
  read(): Promise<MetricsSnapshot> {
    const now = performance.now();
    if (now - this.#readAt >= this.#leastMs) {
      this.#readAt = now;
      for (const [quantile, percentile] of QUANTILES) {
        const seconds = this.#delay.percentile(percentile) / 1e9 - SAMPLE_EVERY_MS / 1e3;
        this.#gauge.set({ process: this.#process, quantile }, Math.max(0, seconds));
      }
      this.#delay.reset();
    }
    return this.#registry.getMetricsAsJSON();
  }
}
