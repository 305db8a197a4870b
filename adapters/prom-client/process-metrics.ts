import { readdir, readFile } from 'node:fs/promises';
import { Counter, Registry } from '@prometheus-io/client';
import { DatabaseMetrics, type MeasuredPool, type StatementTimes } from './database-metrics.ts';
import { EventLoopDelay } from './event-loop-delay.ts';
import { type MeasuredHttpLoad, registerHttpMetrics } from './http-metrics.ts';
import { addGauge, addTotal, type MeasuredValue, type ReadValue } from './measured-value.ts';
import type { MetricsSnapshot } from './metrics-snapshot.ts';
import { createRequestCounter } from './request-counter.ts';

/** Who reads metrics. Each reader gets the event loop delays since its own last reading; those of `status` cover some seconds. */
export type MetricsReader = 'scrape' | 'status';

/** The least that the delays for the status page cover, in milliseconds. Its samples are 5 s apart, with readings between. */
const STATUS_DELAYS_MS = 4_000;

/** The log of the process, as far as it is measured. */
export interface MeasuredLog {
  readonly linesLost: number;
  readonly bufferedBytes: number;
  /** The bound of `bufferedBytes`. */
  readonly bufferedBytesMax: number;
}

const NO_LOG: MeasuredLog = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 0 };

/** What one process measures: the requests that it answers, its log, and itself. */
export class ProcessMetrics {
  readonly #registry = new Registry();
  readonly #process: string;
  #databases: DatabaseMetrics | undefined;
  readonly #scrapedDelay: EventLoopDelay;
  #statusDelay: EventLoopDelay | undefined;
  /** Counts a request; see {@link createRequestCounter}. */
  readonly count = createRequestCounter(this.#registry);

  /** @param process label `process` of the metrics that describe the process itself. */
  constructor(process: string, log = NO_LOG) {
    this.#process = process;
    this.#scrapedDelay = new EventLoopDelay(process);
    registerProcessGauges(this.#registry, process, log);
    this.countTotal(
      'auth_log_lines_lost_total',
      'Log lines that were lost because standard output could not be written, or not fast enough.',
      () => log.linesLost,
    );
  }

  /** Adds the size of something that this process holds. */
  measure(value: MeasuredValue): void {
    addGauge(this.#registry, this.#process, value);
  }

  /** Adds something that this process has counted since it started. */
  countTotal(name: string, help: string, read: () => number): void {
    addTotal(this.#registry, name, help, read);
  }

  /** Adds what a database is used for. Returns what takes the duration of its statements. */
  measureDatabase(dependency: string, pool: () => MeasuredPool): StatementTimes {
    this.#databases ??= new DatabaseMetrics(this.#registry, this.#process);
    return this.#databases.add(dependency, pool);
  }

  /** Adds what the public port of this process holds. Called once, in a process that has a public port. */
  measureHttp(read: () => MeasuredHttpLoad): void {
    registerHttpMetrics(this.#registry, this.#process, read);
  }

  /** All metrics of the process now. */
  async snapshot(reader: MetricsReader = 'scrape'): Promise<MetricsSnapshot> {
    // Made when it is first needed: a monitor has a timer.
    if (reader === 'status') this.#statusDelay ??= new EventLoopDelay(this.#process, STATUS_DELAYS_MS);
    const delay = (reader === 'status' ? this.#statusDelay : undefined) ?? this.#scrapedDelay;
    const [metrics, delays] = await Promise.all([this.#registry.getMetricsAsJSON(), delay.read()]);
    return [...metrics, ...delays];
  }
}

/**
 * Registers what a process uses, with a label that names the process: a sum over processes would hide the one that has a
 * problem. These replace the library's default metrics, which come all together and observe every garbage collection.
 */
function registerProcessGauges(registry: Registry, process: string, log: MeasuredLog): void {
  const registers = [registry];
  const labelNames = ['process'];
  const gauge = (name: string, help: string, read: ReadValue, max?: ReadValue) =>
    addGauge(registry, process, { name, help, read, max });

  const { memoryUsage, cpuUsage } = globalThis.process;
  gauge('auth_process_resident_memory_bytes', 'Bytes of memory that the process holds.', () => memoryUsage.rss());
  new Counter({
    name: 'auth_process_cpu_seconds_total',
    help: 'Seconds of a core that the process used, all of its threads together.',
    labelNames,
    registers,
    collect() {
      const { user, system } = cpuUsage();
      this.reset();
      this.inc({ process }, (user + system) / 1e6);
    },
  });
  gauge(
    'auth_log_buffered_bytes',
    'Bytes of log lines that wait to be written.',
    () => log.bufferedBytes,
    () => log.bufferedBytesMax,
  );
  const startedAt = Math.round(performance.timeOrigin) / 1e3;
  gauge('auth_process_start_time_seconds', 'When the process started, in seconds since 1970.', () => startedAt);
  gauge(
    'auth_process_open_fds',
    'Open file descriptors, most of which are connections. On Linux only.',
    countOpenFiles,
    readOpenFilesLimit,
  );
}

async function countOpenFiles(): Promise<number | undefined> {
  const open = await readdir('/proc/self/fd').catch(() => undefined);
  // Less the one that reading the folder takes.
  return open && open.length - 1;
}

/** Undefined where there is no limit. */
async function readOpenFilesLimit(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '');
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
