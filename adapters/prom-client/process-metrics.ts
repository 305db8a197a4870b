import { readdir, readFile } from 'node:fs/promises';
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type {
  CacheLoad,
  DatabaseName,
  HttpLoad,
  LogLoad,
  MetricsSnapshot,
  PoolLoad,
  ProcessFigures,
  StatementTimes,
} from '../../application/ports/telemetry.ts';
import { DatabaseMetrics } from './database-metrics.ts';
import { EventLoopDelay } from './event-loop-delay.ts';
import { RequestMetrics } from './request-metrics.ts';

/** The least that the delays for the status page cover, in milliseconds. Its samples are 5 s apart, with readings between. */
const STATUS_DELAYS_MS = 4_000;

const NO_LOG: LogLoad = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 0 };

/** Reads a value when it is scraped; undefined while it is not known. */
type ReadValue = () => number | undefined | Promise<number | undefined>;

/** What one process measures: the requests that it answers, its log, and itself. */
export class ProcessMetrics {
  readonly #registry = new Registry();
  readonly #requests = new RequestMetrics(this.#registry);
  readonly #process: string;
  readonly #log: LogLoad;
  readonly #delay = new EventLoopDelay();
  readonly #delayGauge: Gauge<'process' | 'quantile'>;
  /** Made when it is first needed: a monitor has a timer. */
  #statusDelay: EventLoopDelay | undefined;
  #databases: DatabaseMetrics | undefined;
  #http: (() => HttpLoad) | undefined;
  #cache: (() => CacheLoad) | undefined;

  /** @param process label `process` of the metrics that describe the process itself. */
  constructor(process: string, log = NO_LOG) {
    this.#process = process;
    this.#log = log;
    this.#delayGauge = new Gauge({
      name: 'auth_event_loop_delay_seconds',
      help: 'Seconds by which timers came late since the last scrape: median, 99th percentile and (1) maximum.',
      labelNames: ['process', 'quantile'],
      registers: [this.#registry],
    });
    this.#measureItself();
  }

  /** Counts a request; see {@link RequestMetrics}. */
  get count(): RequestMetrics['count'] {
    return this.#requests.count;
  }

  /**
   * Adds something that this process holds, and its bound as `<name>_max`, if it has one. With a label that names the process: a sum
   * over processes would hide the one that has a problem. It costs a request nothing.
   */
  measure(name: string, help: string, read: ReadValue, max?: ReadValue | number): void {
    const process = this.#process;
    new Gauge({
      name,
      help,
      labelNames: ['process'],
      registers: [this.#registry],
      async collect() {
        const value = await read();
        if (value !== undefined) this.set({ process }, value);
      },
    });
    if (max === undefined) return;
    this.measure(`${name}_max`, `The bound of ${name}.`, typeof max === 'number' ? () => max : max);
  }

  /** Adds something that this process has counted since it started. Without a label of the process, it outlives its worker. */
  countTotal(name: string, help: string, read: () => number, labels: Readonly<Record<string, string>> = {}): void {
    new Counter({
      name,
      help,
      labelNames: Object.keys(labels),
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(labels, read());
      },
    });
  }

  /** Adds what a database is used for. Returns what takes the duration of its statements. */
  measureDatabase(dependency: DatabaseName, pool: () => PoolLoad): StatementTimes {
    this.#databases ??= new DatabaseMetrics(this.#registry, this.#process);
    return this.#databases.add(dependency, pool);
  }

  /** Adds the cache of verified secrets. Called once. */
  measureCache(read: () => CacheLoad): void {
    this.#cache = read;
    const help = 'Secrets of clients that are cached as verified.';
    this.measure(
      'auth_verified_secrets',
      help,
      () => read().size,
      () => read().max,
    );
    this.countTotal(
      'auth_verified_secret_lookups_total',
      'Presented secrets that were looked up in the cache of verified secrets.',
      () => read().lookUps,
    );
    this.countTotal(
      'auth_verified_secret_hits_total',
      'Presented secrets that were found in the cache of verified secrets, and needed no verification.',
      () => read().hits,
    );
  }

  /** Adds what the public port of this process holds. Called once, in a process that has a public port. */
  measureHttp(read: () => HttpLoad): void {
    this.#http = read;
    const gauge = (name: string, help: string, member: keyof HttpLoad, bound?: keyof HttpLoad) => {
      const max = bound && (() => read()[bound]);
      this.measure(`auth_http_${name}`, help, () => read()[member], max);
    };
    gauge('connections', 'Open connections to the public port.', 'connections', 'connectionsMax');
    gauge('requests_in_progress', 'Requests that are being answered.', 'inProgress', 'inProgressMax');
    gauge('rejections_delayed', 'Requests whose refusal is delayed.', 'delayed', 'delayedMax');
    gauge(
      'responses_waiting',
      'Responses that wait for the next pass of the event loop.',
      'waitingResponses',
      'waitingResponsesMax',
    );
    gauge('pipelined_requests_waiting', 'Requests that wait for the one before them on their connection.', 'pipelined');
    gauge(
      'pipelined_requests_waiting_bytes',
      'Estimated bytes of the requests that wait for the one before them.',
      'pipelinedBytes',
      'pipelinedBytesMax',
    );
    const help = 'Connections that were closed because there were too many.';
    this.countTotal('auth_http_connections_dropped_total', help, () => read().dropped);
  }

  /** All metrics of the process now. The next event loop delays are those since this call. */
  snapshot(): Promise<MetricsSnapshot> {
    for (const [quantile, seconds] of Object.entries(this.#delay.read())) {
      this.#delayGauge.set({ process: this.#process, quantile }, seconds);
    }
    return this.#registry.getMetricsAsJSON();
  }

  /**
   * What the status shows of this process. A scrape does not notice.
   * @param tokenRoute the declared path of the token endpoint.
   */
  async figures(tokenRoute: string): Promise<ProcessFigures> {
    this.#statusDelay ??= new EventLoopDelay(STATUS_DELAYS_MS);
    const [cache, http] = [this.#cache?.(), this.#http?.()];
    const lookUps = await this.#databases?.answered('client repository');
    return {
      totals: {
        status: {
          ...(await this.#requests.totals(tokenRoute)),
          cache_hits: cache?.hits ?? 0,
          cache_misses: (cache?.lookUps ?? 0) - (cache?.hits ?? 0),
          connections_dropped: http?.dropped ?? 0,
          log_lines_lost: this.#log.linesLost,
        },
        ...(await this.#requests.durations(tokenRoute)),
        lookUps: lookUps?.count ?? 0,
        lookUpSeconds: lookUps?.seconds ?? 0,
      },
      cpuSeconds: cpuSeconds(),
      memoryBytes: process.memoryUsage.rss(),
      eventLoopP99: this.#statusDelay.read()['0.99'],
      connections: http?.connections,
    };
  }

  /** These replace the library's default metrics, which come all together and observe every garbage collection. */
  #measureItself(): void {
    const [log, { memoryUsage }] = [this.#log, process];
    this.measure('auth_process_resident_memory_bytes', 'Bytes of memory that the process holds.', () =>
      memoryUsage.rss(),
    );
    this.countTotal(
      'auth_process_cpu_seconds_total',
      'Seconds of a core that the process used, all of its threads together.',
      cpuSeconds,
      { process: this.#process },
    );
    this.countTotal(
      'auth_log_lines_lost_total',
      'Log lines that were lost because standard output could not be written, or not fast enough.',
      () => log.linesLost,
    );
    this.measure(
      'auth_log_buffered_bytes',
      'Bytes of log lines that wait to be written.',
      () => log.bufferedBytes,
      () => log.bufferedBytesMax,
    );
    const startedAt = Math.round(performance.timeOrigin) / 1e3;
    this.measure(
      'auth_process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      () => startedAt,
    );
    this.measure(
      'auth_process_open_fds',
      'Open file descriptors, most of which are connections. On Linux only.',
      countOpenFiles,
      readOpenFilesLimit,
    );
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
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
