import type { CheckState } from '../../../application/ports/health-check.ts';
import type { RefusalRecord, ReplicaRecord } from '../../../application/ports/telemetry.ts';

/**
 * The answer of `GET /status/data`: what the service does, for the status page. All totals and gauges are those of `/metrics`, read
 * at the moment of the request. Times in seconds since 1970, durations in seconds. `null`: not measured, or not known.
 */
export interface StatusData {
  readonly at: number;
  readonly service: {
    readonly version: string;
    readonly started_at: number;
    readonly base_url: string;
    readonly issuer: string;
    /** As `/readyz` answers. */
    readonly ready: boolean;
  };
  /** As `/readyz` has them: a note if the service can continue for a while, a reason if it is not ready. */
  readonly checks: readonly CheckState[];
  /** Since the start of the service. */
  readonly totals: StatusTotals;
  /** Of answers of the token endpoint, over the last minute. */
  readonly latency: { readonly token_issued: StatusLatency; readonly token_refused: StatusLatency };
  readonly queue: StatusQueue;
  /** The keys of this replica, and the keys of others that it trusts. */
  readonly keys: readonly StatusKey[];
  readonly workers: readonly StatusWorker[];
  /** This replica first, then the others that have reported in the last ten minutes: with `KEY_DIRECTORY=postgres`. */
  readonly replicas: readonly ReplicaRecord[];
  /** `null` if the service uses no database. */
  readonly database: StatusDatabase | null;
  /** One sample each 5 s for the last hour, oldest first; with `?since=`, those after that time. */
  readonly history: readonly StatusSample[];
  /** The registered clients that were refused last, at most 100, the latest first; with `?client=`, that one. */
  readonly clients: readonly RefusedClient[];
}

interface StatusTotals {
  readonly tokens: number;
  readonly requests: number;
  /** By reason, of all routes of the public port. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly cache_hits: number | null;
  readonly cache_misses: number | null;
  readonly connections_dropped: number;
  readonly log_lines_lost: number;
}

export interface StatusLatency {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Secret verifications: those that run, that wait in each queue, and the requests without an answer. */
export interface StatusQueue {
  readonly running: number;
  readonly fifo: number;
  readonly overflow: number;
  readonly paced: number;
  readonly unanswered: number;
  /** The most of each; of the FIFO queue, whose work is limited, at the least cost of a refusal. */
  readonly bounds: Readonly<Record<'running' | 'fifo' | 'overflow' | 'paced' | 'unanswered', number>>;
}

interface StatusKey {
  readonly kid: string;
  readonly alg: string;
  /** `trusted`: a key of another replica, whose state only that replica knows. */
  readonly state: 'published' | 'signing' | 'retired' | 'trusted';
  /** Since when it is in this state; a key may be `signing` from a moment that has not come. */
  readonly from: number | null;
  /** When the state ends: it signs, is retired, or its last token has expired. `null` if no time is set. */
  readonly until: number | null;
}

/** One process. With workers, the primary answers no requests: `listening` and `connections` are `null`. */
export interface StatusWorker {
  /** `primary`, or `worker-3` as in metrics. */
  readonly name: string;
  readonly listening: boolean | null;
  readonly cpu_seconds: number | null;
  readonly memory_bytes: number | null;
  /** Delay of timers, over the last seconds. */
  readonly event_loop_p99: number | null;
  readonly connections: number | null;
}

interface StatusDatabase {
  readonly state: 'available' | 'unavailable';
  /** Of look-ups, the mean over the last minute. */
  readonly latency_seconds: number | null;
}

/** Totals since the start, and percentiles and sizes at that time. */
export interface StatusSample {
  readonly at: number;
  readonly tokens: number;
  readonly refusals: number;
  /** Of tokens that were issued since the sample before. */
  readonly p50: number | null;
  readonly p99: number | null;
  /** Verifications that wait in all queues together. */
  readonly waiting: number;
  readonly cache_hits: number | null;
  readonly cache_misses: number | null;
}

export interface RefusedClient {
  readonly client_id: string;
  /** At most 5 of each process, the latest first. */
  readonly refusals: readonly Pick<RefusalRecord, 'at' | 'reason' | 'status' | 'request_id' | 'remote_address'>[];
}
