import type { KeyPeriod } from '../../../application/keys/key-period.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { type CheckState, type HealthCheck, statesOf } from '../../../application/ports/health-check.ts';
import {
  DATABASES,
  type DatabaseName,
  type FoundRefusals,
  type ProcessFigures,
  type ProcessTotals,
  type RefusalQuery,
  type RefusalRecord,
  type ReplicaRecord,
} from '../../../application/ports/telemetry.ts';
import { WorkerTotals } from '../../../application/worker-totals.ts';
import type { RefusedClient, StatusData, StatusQueue, StatusWorker } from './status-data.ts';
import { SAMPLE_SECONDS, StatusHistory } from './status-history.ts';
import type { StatusSource } from './status-routes.ts';

const CLIENTS: DatabaseName = 'client repository';

const CLIENTS_MAX = 100;

interface ServiceStatusParts {
  readonly clock: Clock;
  readonly version: string;
  readonly baseUrl: string;
  readonly issuer: string;
  readonly checks: () => readonly HealthCheck[];
  /** Of this process, without a reset of what a scrape resets. */
  readonly figures: () => Promise<ProcessFigures>;
  /** Of each worker by its id; undefined for one that does not answer in time. */
  readonly workers: () => Promise<ReadonlyMap<number, ProcessFigures | undefined>>;
  readonly queue: () => StatusQueue;
  readonly keys: () => readonly KeyPeriod[];
  readonly replicas: () => readonly ReplicaRecord[];
  /** The processes by their names in metrics, and whether they answer requests; `null` if that is not their task. */
  readonly processes: () => readonly Pick<StatusWorker, 'name' | 'listening'>[];
  readonly findRefusals: (query: RefusalQuery) => Promise<FoundRefusals>;
}

/** What all processes have counted, and the figures of each that has answered in time, by its name. */
interface Reading {
  readonly totals: ProcessTotals;
  readonly processes: ReadonlyMap<string, ProcessFigures>;
}

/** What the service does, collected for the status page from all processes, and a history of the last hour. */
export class ServiceStatus implements StatusSource {
  readonly #parts: ServiceStatusParts;
  readonly #history = new StatusHistory();
  readonly #totals: WorkerTotals<ProcessFigures, ProcessTotals>;
  /** As last measured: a worker that hangs keeps its last figures. */
  #workers: readonly StatusWorker[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ServiceStatusParts) {
    this.#parts = parts;
    this.#totals = new WorkerTotals({ ask: parts.workers, totalsOf: ({ totals }) => totals, add: addUp });
  }

  /** Samples of the history, at most 720. */
  get samples(): number {
    return this.#history.size;
  }

  /** Takes the first sample, and then one every 5 s. */
  start(): void {
    this.#timer = setInterval(() => void this.sample(), SAMPLE_SECONDS * 1_000).unref();
    void this.sample();
  }

  /** Adds a sample to the history. Never rejects: a sample that cannot be taken is left out. */
  async sample(): Promise<void> {
    const reading = await this.#read().catch(() => undefined);
    if (reading === undefined) return;
    const { fifo, overflow, paced } = this.#parts.queue();
    this.#history.add(this.#parts.clock.now(), reading.totals, fifo + overflow + paced);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  async data(since: number, clientId: string | undefined): Promise<StatusData> {
    const { clock, version, baseUrl, issuer, keys, replicas } = this.#parts;
    const query = clientId === undefined ? { latestClients: CLIENTS_MAX } : { clientId };
    const [{ totals, processes }, refusals] = await Promise.all([this.#read(), this.#parts.findRefusals(query)]);
    const checks = statesOf(this.#parts.checks());
    return {
      at: clock.now(),
      service: {
        version,
        started_at: Math.floor(Math.round(performance.timeOrigin) / 1e3),
        base_url: baseUrl,
        issuer,
        ready: checks.every(({ ready }) => ready),
      },
      checks,
      totals: {
        tokens: totals.tokens,
        requests: totals.requests,
        refusals: totals.refusals,
        cache_hits: totals.cacheHits,
        cache_misses: totals.cacheLookUps - totals.cacheHits,
        connections_dropped: totals.connectionsDropped,
        log_lines_lost: totals.logLinesLost,
      },
      latency: this.#history.latency(totals),
      queue: this.#parts.queue(),
      keys: keys().map(({ kid, alg, state, from, until }) => ({
        kid,
        alg,
        state,
        from: from ?? null,
        until: until ?? null,
      })),
      workers: this.#workersOf(processes),
      replicas: replicas(),
      database: this.#databaseOf(checks, totals),
      history: this.#history.since(since),
      clients: byClient(refusals.records),
    };
  }

  async findRefusal(requestId: string): Promise<RefusalRecord | 'unknown' | 'incomplete'> {
    const { records, complete } = await this.#parts.findRefusals({ requestId });
    return records[0] ?? (complete ? 'unknown' : 'incomplete');
  }

  async #read(): Promise<Reading> {
    const [own, { answers, totals }] = await Promise.all([this.#parts.figures(), this.#totals.read()]);
    const processes = new Map([['primary', own]]);
    for (const [id, figures] of answers) if (figures !== undefined) processes.set(`worker-${id}`, figures);
    return { totals: totals.reduce(addUp, own.totals), processes };
  }

  #workersOf(processes: Reading['processes']): readonly StatusWorker[] {
    this.#workers = this.#parts.processes().map(({ name, listening }) => {
      const known = this.#workers.find((worker) => worker.name === name);
      const figures = processes.get(name);
      return {
        name,
        listening,
        cpu_seconds: figures?.cpuSeconds ?? known?.cpu_seconds ?? null,
        memory_bytes: figures?.memoryBytes ?? known?.memory_bytes ?? null,
        event_loop_p99: figures?.eventLoopP99 ?? known?.event_loop_p99 ?? null,
        connections: figures?.connections ?? known?.connections ?? null,
      };
    });
    return this.#workers;
  }

  #databaseOf(checks: readonly CheckState[], totals: ProcessTotals): StatusData['database'] {
    const states = checks.filter(({ name }) => DATABASES.some((database) => database === name));
    if (states.length === 0) return null;
    // The others are ready with a note while they are unavailable; that of the clients is about tables that few need.
    const available = states.every((state) => state.ready && (state.note === undefined || state.name === CLIENTS));
    return { state: available ? 'available' : 'unavailable', latency_seconds: this.#history.lookUpSeconds(totals) };
  }
}

/** The records of each client, and the clients, each the latest first. */
function byClient(records: readonly RefusalRecord[]): readonly RefusedClient[] {
  const clients = new Map<string, RefusalRecord[]>();
  for (const record of records.toSorted((one, other) => other.at - one.at)) {
    if (record.client_id === undefined) continue;
    const known = clients.get(record.client_id);
    if (known === undefined) clients.set(record.client_id, [record]);
    else known.push(record);
  }
  return [...clients].slice(0, CLIENTS_MAX).map(([client_id, refusals]) => ({
    client_id,
    refusals: refusals.map(({ at, reason, status, request_id, remote_address }) => ({
      at,
      reason,
      status,
      request_id,
      remote_address,
    })),
  }));
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
