import { readdir, readFile } from 'node:fs/promises';
import { Registry } from '@prometheus-io/client';
import type {
  Admission,
  DatabaseName,
  Exposition,
  HttpLoad,
  LogLoad,
  PoolLoad,
  StatementTimes,
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
    values.gauges('quantile', 'auth_event_loop_delay_seconds', this.#delay.read());
    values.gauge('auth_process_resident_memory_bytes', process.memoryUsage.rss());
    values.total('auth_process_cpu_seconds_total', cpuSeconds());
    values.gauge('auth_process_start_time_seconds', Math.round(performance.timeOrigin) / 1e3);
    values.gauge('auth_process_open_fds', await countOpenFiles(), await readOpenFilesLimit());
    const { linesLost, bufferedBytes, bufferedBytesMax } = this.#log;
    values.total('auth_log_lines_lost_total', linesLost);
    values.gauge('auth_log_buffered_bytes', bufferedBytes, bufferedBytesMax);
  }
}

function measureHttp(values: MetricValues, http: HttpLoad, { load, rejectionDelay, responsePacing }: Admission): void {
  values.gauge('auth_http_connections', http.connections, http.connectionsMax);
  values.gauge('auth_http_requests_in_progress', load.inFlight, load.max);
  values.gauge('auth_http_rejections_delayed', rejectionDelay.waiting, rejectionDelay.max);
  values.gauge('auth_http_responses_waiting', responsePacing.waiting, responsePacing.max);
  values.total('auth_http_connections_dropped_total', http.dropped);
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
