import { readdir } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from '@prometheus-io/client';

/** The interval at which Node.js samples the event loop. Its figures include the interval; ours do not. */
const SAMPLE_EVERY_MS = 20;

/** Label `quantile` and percentile; the last is the maximum. */
const QUANTILES = [
  ['0.5', 50],
  ['0.99', 99],
  ['1', 100],
] as const;

/**
 * Registers what a process uses, with a label that names the process: a sum over processes would hide the one that is ill.
 * These replace the library's default metrics, which come all together and observe every garbage collection.
 */
export function registerProcessGauges(registry: Registry, process: string): void {
  const registers = [registry];
  const labelNames = ['process'];
  const labels = { process };

  const delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS });
  delay.enable();
  new Gauge({
    name: 'auth_event_loop_delay_seconds',
    help: 'Seconds by which timers came late since the last scrape: median, 99th percentile and (1) maximum.',
    labelNames: ['process', 'quantile'],
    registers,
    collect() {
      for (const [quantile, percentile] of QUANTILES) {
        this.set({ process, quantile }, Math.max(0, delay.percentile(percentile) / 1e9 - SAMPLE_EVERY_MS / 1e3));
      }
      delay.reset();
    },
  });
  new Gauge({
    name: 'auth_process_resident_memory_bytes',
    help: 'Bytes of memory that the process holds.',
    labelNames,
    registers,
    collect() {
      this.set(labels, globalThis.process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'auth_process_cpu_seconds_total',
    help: 'Seconds of a core that the process used, all of its threads together.',
    labelNames,
    registers,
    collect() {
      const { user, system } = globalThis.process.cpuUsage();
      this.reset();
      this.inc(labels, (user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'auth_process_start_time_seconds',
    help: 'When the process started, in seconds since 1970.',
    labelNames,
    registers,
  }).set(labels, Math.round(performance.timeOrigin) / 1e3);
  new Gauge({
    name: 'auth_process_open_fds',
    help: 'Open file descriptors, most of which are connections. On Linux only.',
    labelNames,
    registers,
    async collect() {
      const open = await readdir('/proc/self/fd').catch(() => []);
      // Less the one that reading the folder takes.
      if (open.length > 0) this.set(labels, open.length - 1);
    },
  });
}
