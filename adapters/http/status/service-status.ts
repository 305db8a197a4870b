import type { KeyPeriod } from '../../../application/keys/key-period.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { HealthCheck } from '../../../application/ports/health-check.ts';
import { Measurements, type MetricsOfService } from './measurements.ts';
import type { RefusalQuery } from './refusal-records.ts';
import type {
  RefusalRecord,
  RefusedClient,
  StatusCheck,
  StatusData,
  StatusQueue,
  StatusReplica,
  StatusWorker,
} from './status-data.ts';
import { SAMPLE_SECONDS, StatusHistory } from './status-history.ts';
import type { StatusSource } from './status-routes.ts';
import { TOTALS } from './totals.ts';

/** The checks of databases, by the names that `/readyz` has. */
const DATABASE_CHECKS: ReadonlySet<string> = new Set(['client repository', 'key directory', 'used assertions']);

const CLIENTS_MAX = 100;

/** What all processes found. */
export interface FoundRefusals {
  readonly records: readonly RefusalRecord[];
  /** Whether every process has answered. */
  readonly complete: boolean;
}

export interface ServiceStatusParts {
  readonly clock: Clock;
  readonly version: string;
  readonly baseUrl: string;
  readonly issuer: string;
  readonly checks: () => readonly HealthCheck[];
  /** All metrics of the service, without a reset of what a scrape resets. */
  readonly measure: () => Promise<MetricsOfService>;
  /** Verifications that fit in the FIFO queue. */
  readonly fifoMax: number;
  readonly keys: () => readonly KeyPeriod[];
  readonly replicas: () => readonly StatusReplica[];
  /** The processes by their names in metrics, and whether they answer requests; `null` if that is not their task. */
  readonly processes: () => readonly Pick<StatusWorker, 'name' | 'listening'>[];
  readonly findRefusals: (query: RefusalQuery) => Promise<FoundRefusals>;
}

/** What the service does, collected for the status page from all processes, and a history of the last hour. */
export class ServiceStatus implements StatusSource {
  readonly #parts: ServiceStatusParts;
  readonly #history = new StatusHistory();
  /** As last measured: a worker that hangs keeps its last figures. */
  #workers: readonly StatusWorker[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ServiceStatusParts) {
    this.#parts = parts;
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
    const metrics = await this.#parts.measure().catch(() => undefined);
    if (metrics !== undefined) this.#history.add(this.#parts.clock.now(), metrics);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  async data(since: number, clientId: string | undefined): Promise<StatusData> {
    const { clock, version, baseUrl, issuer, keys, replicas } = this.#parts;
    const query = clientId === undefined ? { latestClients: CLIENTS_MAX } : { clientId };
    const [metrics, refusals] = await Promise.all([this.#parts.measure(), this.#parts.findRefusals(query)]);
    const now = new Measurements(metrics);
    const checks = this.#parts.checks().map((check) => ({ name: check.name, ...check.readiness() }));
    return {
      at: clock.now(),
      service: {
        version,
        started_at: Math.floor(
          now.value('auth_process_start_time_seconds', ({ process }) => process === 'primary') ?? 0,
        ),
        base_url: baseUrl,
        issuer,
        ready: checks.every(({ ready }) => ready),
      },
      checks,
      totals: {
        tokens: TOTALS.tokens(now),
        requests: TOTALS.requests(now),
        refusals: TOTALS.refusalsByReason(now),
        cache_hits: TOTALS.cacheHits(now),
        cache_misses: TOTALS.cacheMisses(now),
        connections_dropped: TOTALS.connectionsDropped(now),
        log_lines_lost: TOTALS.logLinesLost(now),
      },
      latency: this.#history.latency(now),
      queue: this.#queueOf(now),
      keys: keys().map(({ kid, state, from, until }) => ({ kid, state, from: from ?? null, until: until ?? null })),
      workers: this.#workersOf(now),
      replicas: replicas(),
      database: this.#databaseOf(checks, now),
      history: this.#history.since(since),
      clients: byClient(refusals.records),
    };
  }

  async findRefusal(requestId: string): Promise<RefusalRecord | 'unknown' | 'incomplete'> {
    const { records, complete } = await this.#parts.findRefusals({ requestId });
    return records[0] ?? (complete ? 'unknown' : 'incomplete');
  }

  #queueOf(now: Measurements): StatusQueue {
    const verifications = (name: string, queue?: string) =>
      now.total(`auth_secret_verifications_${name}`, (labels) => labels['queue'] === queue) ?? 0;
    return {
      running: verifications('running'),
      fifo: verifications('waiting', 'fifo'),
      overflow: verifications('waiting', 'overflow'),
      paced: verifications('waiting', 'paced'),
      unanswered: verifications('unanswered'),
      bounds: {
        running: verifications('running_max'),
        fifo: this.#parts.fifoMax,
        overflow: verifications('waiting_max', 'overflow'),
        paced: verifications('waiting_max', 'paced'),
        unanswered: verifications('unanswered_max'),
      },
    };
  }

  #workersOf(now: Measurements): readonly StatusWorker[] {
    this.#workers = this.#parts.processes().map(({ name, listening }) => {
      const known = this.#workers.find((worker) => worker.name === name);
      const value = (metric: string, quantile?: string) =>
        now.value(metric, (labels) => labels['process'] === name && labels['quantile'] === quantile);
      return {
        name,
        listening,
        cpu_seconds: value('auth_process_cpu_seconds_total') ?? known?.cpu_seconds ?? null,
        memory_bytes: value('auth_process_resident_memory_bytes') ?? known?.memory_bytes ?? null,
        event_loop_p99: value('auth_event_loop_delay_seconds', '0.99') ?? known?.event_loop_p99 ?? null,
        connections: value('auth_http_connections') ?? known?.connections ?? null,
      };
    });
    return this.#workers;
  }

  #databaseOf(checks: readonly StatusCheck[], now: Measurements): StatusData['database'] {
    const states = checks.filter(({ name }) => DATABASE_CHECKS.has(name));
    if (states.length === 0) return null;
    // The others are ready with a note while they are unavailable; that of the clients is about tables that few need.
    const available = states.every(
      ({ name, ready, note }) => ready && (note === undefined || name === 'client repository'),
    );
    return { state: available ? 'available' : 'unavailable', latency_seconds: this.#history.lookUpSeconds(now) };
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
