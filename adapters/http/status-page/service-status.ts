import type { Clock } from '../../../application/ports/clock.ts';
import { type CheckState, type HealthCheck, statesOf } from '../../../application/ports/health-check.ts';
import {
  DATABASES,
  type DatabaseName,
  type FoundRefusals,
  type KeyPeriod,
  type ProcessFigures,
  type ProcessTotals,
  type RefusalQuery,
  type RefusalRecord,
  type ReplicaRecord,
} from '../../../application/ports/telemetry.ts';
import { WorkerTotals } from '../../../application/worker-totals.ts';
import { nowInWords, topReason } from './now-in-words.ts';
import type { StatusData, StatusWorker } from './status-data.ts';
import { StatusEvents } from './status-events.ts';
import { type Reading, SAMPLE_SECONDS, StatusHistory } from './status-history.ts';

const CLIENTS: DatabaseName = 'client repository';

const REFUSALS_MAX = 100;

interface ServiceStatusParts {
  readonly clock: Clock;
  readonly service: Omit<StatusData['service'], 'started_at' | 'ready'>;
  readonly checks: () => readonly HealthCheck[];
  /** What to do about a check that is not ready or has a note. */
  readonly cureOf: (check: CheckState) => string | undefined;
  /** Of this process, without a reset of what a scrape resets. */
  readonly figures: () => Promise<ProcessFigures>;
  /** Of each worker by its id; undefined for one that does not answer in time. */
  readonly workers: () => Promise<ReadonlyMap<number, ProcessFigures | undefined>>;
  readonly queue: () => StatusData['queue'];
  readonly keys: () => readonly KeyPeriod[];
  readonly replicas: () => readonly ReplicaRecord[];
  /** The processes by their names in metrics, and whether they answer requests; `null` if that is not their task. */
  readonly processes: () => readonly Pick<StatusWorker, 'name' | 'listening'>[];
  readonly findRefusals: (query: RefusalQuery) => Promise<FoundRefusals>;
}

/** What the service does, collected for the status page from all processes, and a history of the last hour. */
export class ServiceStatus {
  readonly #parts: ServiceStatusParts;
  readonly #history = new StatusHistory();
  readonly #events = new StatusEvents();
  readonly #totals: WorkerTotals<ProcessFigures, ProcessTotals>;
  /** As last measured: a worker that hangs keeps its last figures. */
  #processes: Reading['processes'] = new Map();
  /** The most frequent reason of refusals at the last sample. */
  #topReason = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ServiceStatusParts) {
    this.#parts = parts;
    this.#totals = new WorkerTotals({ ask: parts.workers, totalsOf: ({ totals }) => totals, add: addUp });
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
    const { clock, checks, processes, keys } = this.#parts;
    this.#events.observe(clock.now(), { checks: statesOf(checks()), processes: processes(), keys: keys() });
  }

  /** Adds a sample to the history. Never rejects: a sample that cannot be taken is left out. */
  async sample(): Promise<void> {
    const reading = await this.#read().catch(() => undefined);
    if (reading === undefined) return;
    const { fifo, overflow, paced } = this.#parts.queue();
    const ready = statesOf(this.#parts.checks()).every((check) => check.ready);
    this.#topReason = topReason(this.#history.lastMinute(reading));
    this.#history.add(reading, { at: this.#parts.clock.now(), ready, waiting: fifo + overflow + paced });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  /**
   * @param since leaves out samples of the history up to that time.
   * @param query whose refusals; without it, the last one of each registered client.
   */
  async data(since: number, query?: RefusalQuery): Promise<StatusData> {
    const { clock, service, keys, replicas, cureOf } = this.#parts;
    // At the same time: each waits a second for a worker that hangs.
    const [reading, refusals, records] = await Promise.all([
      this.#read(),
      this.#findLatest(query),
      this.#findLatest({ reason: this.#topReason }),
    ]);
    const lastMinute = this.#history.lastMinute(reading);
    const checks = statesOf(this.#parts.checks()).map((check) => {
      const cure = check.ready && check.note === undefined ? undefined : cureOf(check);
      return cure === undefined ? check : { ...check, cure };
    });
    return {
      at: clock.now(),
      service: {
        ...service,
        started_at: Math.floor(Math.round(performance.timeOrigin) / 1e3),
        ready: checks.every(({ ready }) => ready),
      },
      summary: nowInWords({ checks, lastMinute, records: records.filter(({ at }) => at >= clock.now() - 60) }),
      checks,
      totals: reading.totals.status,
      last_minute: lastMinute,
      latency: this.#history.latency(reading),
      queue: this.#parts.queue(),
      keys: keys(),
      workers: this.#workersOf(reading),
      replicas: replicas(),
      database: this.#databaseOf(checks, reading),
      history: this.#history.since(since),
      refusals,
      events: this.#events.latestFirst,
    };
  }

  /** `incomplete`: not found, but a process did not answer in time. */
  async findRefusal(requestId: string): Promise<RefusalRecord | 'unknown' | 'incomplete'> {
    const { records, complete } = await this.#parts.findRefusals({ requestId });
    return records[0] ?? (complete ? 'unknown' : 'incomplete');
  }

  /** Of all processes together. */
  async #findLatest(query: RefusalQuery = { latestClients: REFUSALS_MAX }): Promise<readonly RefusalRecord[]> {
    const { records } = await this.#parts.findRefusals(query);
    const latest = records.toSorted((one, other) => other.at - one.at);
    const wanted =
      'latestClients' in query
        ? [...Map.groupBy(latest, ({ client_id: id }) => id).values()].flatMap(([last]) => last ?? [])
        : latest;
    return wanted.slice(0, REFUSALS_MAX);
  }

  async #read(): Promise<Reading> {
    const [own, { answers, totals }] = await Promise.all([this.#parts.figures(), this.#totals.read()]);
    const processes = new Map([['primary', own]]);
    for (const [id, answer] of answers) {
      const figures = answer ?? this.#processes.get(`worker-${id}`);
      if (figures !== undefined) processes.set(`worker-${id}`, figures);
    }
    this.#processes = processes;
    return { seconds: performance.now() / 1_000, totals: totals.reduce(addUp, own.totals), processes };
  }

  #workersOf(reading: Reading): readonly StatusWorker[] {
    return this.#parts.processes().map((process) => {
      const figures = reading.processes.get(process.name);
      return {
        ...process,
        cpu: this.#history.cores(process.name, reading),
        memory_bytes: figures?.memoryBytes ?? null,
        event_loop_p99: figures?.eventLoopP99 ?? null,
        connections: figures?.connections ?? null,
      };
    });
  }

  #databaseOf(checks: readonly CheckState[], reading: Reading): StatusData['database'] {
    const states = checks.filter(({ name }) => DATABASES.some((database) => database === name));
    if (states.length === 0) return null;
    // The others are ready with a note while they are unavailable; that of the clients is about tables that few need.
    const available = states.every((state) => state.ready && (state.note === undefined || state.name === CLIENTS));
    return { state: available ? 'available' : 'unavailable', latency_seconds: this.#history.lookUpSeconds(reading) };
  }
}

/** Adds up the numbers of two records, and of the records in them, by their names. */
function addUp<Totals extends object>(one: Totals, other: Totals): Totals {
  const sum = new Map<string, unknown>(Object.entries(one));
  for (const [name, value] of Object.entries(other)) {
    const known = sum.get(name);
    sum.set(name, typeof value === 'number' ? Number(known ?? 0) + value : addUp(known ?? {}, value));
  }
  return Object.fromEntries(sum) as Totals;
}
