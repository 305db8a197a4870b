import type { Clock } from '../../../application/ports/clock.ts';
import { type CheckState, type HealthCheck, statesOf } from '../../../application/ports/health-check.ts';
import {
  DATABASES,
  type DatabaseName,
  type KeyPeriod,
  type ProcessFigures,
  type RefusalQuery,
  type RefusalRecord,
} from '../../../application/ports/telemetry.ts';
import { nowInWords, topReason } from './now-in-words.ts';
import type { StatusData } from './status-data.ts';
import { StatusEvents } from './status-events.ts';
import { type Reading, SAMPLE_SECONDS, StatusHistory } from './status-history.ts';

const CLIENTS: DatabaseName = 'client repository';

const REFUSALS_MAX = 100;

interface ServiceStatusParts {
  readonly clock: Clock;
  readonly service: Omit<StatusData['service'], 'started_at' | 'ready'>;
  readonly checks: () => readonly HealthCheck[];
  /** Without a reset of what a scrape resets. */
  readonly figures: () => Promise<ProcessFigures>;
  readonly queue: () => StatusData['queue'];
  readonly keys: () => readonly KeyPeriod[];
  /** The latest first. */
  readonly findRefusals: (query: RefusalQuery) => readonly RefusalRecord[];
}

/** What the service does, collected for the status page, and a history of the last hour. */
export class ServiceStatus {
  readonly #parts: ServiceStatusParts;
  readonly #history = new StatusHistory();
  readonly #events = new StatusEvents();
  /** The most frequent reason of refusals at the last sample. */
  #topReason = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ServiceStatusParts) {
    this.#parts = parts;
  }

  /** Samples of the history, at most 720. */
  get samples(): number {
    return this.#history.size;
  }

  /** Changes that are kept, at most 20. */
  get events(): number {
    return this.#events.latestFirst.length;
  }

  /** Takes the first sample, and then one every 5 s. Looks for changes every second. */
  start(): void {
    let seconds = 0;
    const everySecond = () => {
      this.observe();
      if (seconds % SAMPLE_SECONDS === 0) void this.sample();
      seconds += 1;
    };
    everySecond();
    this.#timer = setInterval(everySecond, 1_000).unref();
  }

  /** Records what has changed since the last time. */
  observe(): void {
    const { clock, checks, keys } = this.#parts;
    this.#events.observe(clock.now(), { checks: statesOf(checks()), keys: keys() });
  }

  /** Adds a sample to the history. Never rejects: a sample that cannot be taken is left out. */
  async sample(): Promise<void> {
    const reading = await this.#read().catch(() => undefined);
    if (reading === undefined) return;
    const { fifo, overflow } = this.#parts.queue();
    const ready = statesOf(this.#parts.checks()).every((check) => check.ready);
    this.#topReason = topReason(this.#history.lastMinute(reading));
    this.#history.add(reading, { at: this.#parts.clock.now(), ready, waiting: fifo + overflow });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  /**
   * @param since leaves out samples of the history up to that time.
   * @param query whose refusals; without it, the last one of each registered client.
   */
  async data(since: number, query?: RefusalQuery): Promise<StatusData> {
    const { clock, service, keys } = this.#parts;
    const reading = await this.#read();
    const records = this.#findLatest({ reason: this.#topReason });
    const lastMinute = this.#history.lastMinute(reading);
    const checks = statesOf(this.#parts.checks());
    return {
      at: clock.now(),
      service: {
        ...service,
        started_at: Math.floor(Math.round(performance.timeOrigin) / 1e3),
        ready: checks.every(({ ready }) => ready),
      },
      summary: nowInWords({ checks, lastMinute, records: records.filter(({ at }) => at >= clock.now() - 60) }),
      checks,
      totals: reading.figures.totals.status,
      last_minute: lastMinute,
      latency: this.#history.latency(reading),
      queue: this.#parts.queue(),
      keys: keys(),
      process: this.#processOf(reading),
      database: this.#databaseOf(checks, reading),
      history: this.#history.since(since),
      refusals: this.#findLatest(query),
      events: this.#events.latestFirst,
    };
  }

  /** The refusal of this request, if it is kept. */
  findRefusal(requestId: string): RefusalRecord | undefined {
    return this.#parts.findRefusals({ requestId })[0];
  }

  #findLatest(query: RefusalQuery = { latestClients: REFUSALS_MAX }): readonly RefusalRecord[] {
    return this.#parts.findRefusals(query).slice(0, REFUSALS_MAX);
  }

  async #read(): Promise<Reading> {
    return { seconds: performance.now() / 1_000, figures: await this.#parts.figures() };
  }

  #processOf(reading: Reading): StatusData['process'] {
    const { memoryBytes, eventLoopP99, connections } = reading.figures;
    return {
      cpu: this.#history.cores(reading),
      memory_bytes: memoryBytes,
      event_loop_p99: eventLoopP99,
      connections,
    };
  }

  #databaseOf(checks: readonly CheckState[], reading: Reading): StatusData['database'] {
    const states = checks.filter(({ name }) => DATABASES.some((database) => database === name));
    if (states.length === 0) return null;
    // The others are ready with a note while they are unavailable; that of the clients is about tables that few need.
    const available = states.every((state) => state.ready && (state.note === undefined || state.name === CLIENTS));
    return { state: available ? 'available' : 'unavailable', latency_seconds: this.#history.lookUpSeconds(reading) };
  }
}
