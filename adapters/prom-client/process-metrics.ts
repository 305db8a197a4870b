import { readdir, readFile } from 'node:fs/promises';
import { Registry } from '@prometheus-io/client';
import type {
  Admission,
  CacheLoad,
  DatabaseName,
  Exposition,
  HttpLoad,
  LogLoad,
  PoolLoad,
  StatementTimes,
  StatusFigures,
} from '../../application/ports/telemetry.ts';
import { DatabaseMetrics } from './database-metrics.ts';
import { EventLoopDelay } from './event-loop-delay.ts';
import { type Measure, MetricValues } from './metric-values.ts';
import { RequestMetrics } from './request-metrics.ts';

const NO_LOG: LogLoad = { linesLost: 0, bufferedBytes: 0, bufferedBytesMax: 0 };

/** What the service measures: the requests that it answers, its log, and its process. */
export class ProcessMetrics {
  readonly #registry = new Registry();
  readonly #requests = new RequestMetrics(this.#registry);
  readonly #log: LogLoad;
  readonly #delay = new EventLoopDelay();
  readonly #measures: Measure[] = [];
  #databases: DatabaseMetrics | undefined;

  constructor(log = NO_LOG) {
    this.#log = log;
  }

  /** Counts a request; see {@link RequestMetrics}. */
  get count(): RequestMetrics['count'] {
    return this.#requests.count;
  }

  /** What the status shows of the requests; see {@link RequestMetrics}. */
  figures(tokenRoute: string): Promise<StatusFigures> {
    return this.#requests.figures(tokenRoute);
  }

  /** Adds what is read at each scrape. */
  add(measure: Measure): void {
    this.#measures.push(measure);
  }

  /** Adds what a database is used for. Returns what takes the duration of its statements. */
  measureDatabase(dependency: DatabaseName, pool: () => PoolLoad): StatementTimes {
    this.#databases ??= new DatabaseMetrics(this.#registry);
    return this.#databases.add(dependency, pool);
  }

  /** Adds what the public port holds. Called once. */
  measureHttp(http: { readonly load: HttpLoad }, admission: Admission): void {
    this.add((values) => measureHttp(values, http.load, admission));
  }

  /** All metrics now, in the text format 0.0.4 of Prometheus. The next event loop delays are those since this call. */
  async exposition(): Promise<Exposition> {
    const values = new MetricValues();
    await this.#measureItself(values);
    this.#databases?.measure(values);
    for (const measure of this.#measures) await measure(values);
    const text = `${await this.#registry.metrics()}\n${await values.text()}`;
    return { contentType: this.#registry.contentType, text };
  }

  /** These replace the library's default metrics, which come all together and observe every garbage collection. */
  async #measureItself(values: MetricValues): Promise<void> {
    const delaysHelp =
      'Seconds by which timers came late since the last scrape: median, 99th percentile and (1) maximum.';
    values.gauges('quantile', 'auth_event_loop_delay_seconds', delaysHelp, this.#delay.read());
    const memoryHelp = 'Bytes of memory that the process holds.';
    values.gauge('auth_process_resident_memory_bytes', memoryHelp, process.memoryUsage.rss());
    const cpuHelp = 'Seconds of a core that the process used, all of its threads together.';
    values.total('auth_process_cpu_seconds_total', cpuHelp, cpuSeconds());
    const startedHelp = 'When the process started, in seconds since 1970.';
    values.gauge('auth_process_start_time_seconds', startedHelp, Math.round(performance.timeOrigin) / 1e3);
    const filesHelp = 'Open file descriptors, most of which are connections. On Linux only.';
    values.gauge('auth_process_open_fds', filesHelp, await countOpenFiles(), await readOpenFilesLimit());
    const { linesLost, bufferedBytes, bufferedBytesMax } = this.#log;
    const lostHelp = 'Log lines that were lost because standard output could not be written, or not fast enough.';
    values.total('auth_log_lines_lost_total', lostHelp, linesLost);
    const bufferedHelp = 'Bytes of log lines that wait to be written.';
    values.gauge('auth_log_buffered_bytes', bufferedHelp, bufferedBytes, bufferedBytesMax);
  }
}

/** Measures the cache of verified secrets. */
export function measureCache(values: MetricValues, { size, max, lookUps, hits }: CacheLoad): void {
  values.gauge('auth_verified_secrets', 'Secrets of clients that are cached as verified.', size, max);
  const lookedUpHelp = 'Presented secrets that were looked up in the cache of verified secrets.';
  values.total('auth_verified_secret_lookups_total', lookedUpHelp, lookUps);
  const foundHelp = 'Presented secrets that were found in the cache of verified secrets, and needed no verification.';
  values.total('auth_verified_secret_hits_total', foundHelp, hits);
}

function measureHttp(values: MetricValues, http: HttpLoad, { load, rejectionDelay, responsePacing }: Admission): void {
  const gauge = (name: string, help: string, value: number, max?: number) =>
    values.gauge(`auth_http_${name}`, help, value, max);
  gauge('connections', 'Open connections to the public port.', http.connections, http.connectionsMax);
  gauge('requests_in_progress', 'Requests that are being answered.', load.inFlight, load.max);
  gauge('rejections_delayed', 'Requests whose refusal is delayed.', rejectionDelay.waiting, rejectionDelay.max);
  const responsesHelp = 'Responses that wait for the next pass of the event loop.';
  gauge('responses_waiting', responsesHelp, responsePacing.waiting, responsePacing.max);
  const droppedHelp = 'Connections that were closed because there were too many.';
  values.total('auth_http_connections_dropped_total', droppedHelp, http.dropped);
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
