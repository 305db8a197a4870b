import type { CheckState } from '../../../application/ports/health-check.ts';
import type { KeyPeriod, RefusalRecord, StatusTotals, Verifications } from '../../../application/ports/telemetry.ts';

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
    /** The host and the process of this replica. */
    readonly replica: string;
    /** As `/readyz` answers. */
    readonly ready: boolean;
  };
  /** What happens now, in one sentence. */
  readonly summary: string;
  /** As `/readyz` has them. */
  readonly checks: readonly CheckState[];
  /** Since the start of the service. Refusals by reason, of all routes of the public port. */
  readonly totals: StatusTotals;
  readonly last_minute: LastMinute;
  /** Of answers of the token endpoint, over the last minute. */
  readonly latency: { readonly token_issued: StatusLatency; readonly token_refused: StatusLatency };
  /** Secret verifications: those that run, that wait in each queue, and the requests without an answer; and the most of each. */
  readonly queue: Verifications & { readonly bounds: Verifications };
  /** The keys that tokens are verified with. */
  readonly keys: readonly KeyPeriod[];
  readonly process: StatusProcess;
  /** `null` if the service uses no database; otherwise with the mean duration of a look-up over the last minute. */
  readonly database: { readonly state: 'available' | 'unavailable'; readonly latency_seconds: number | null } | null;
  /** One sample each 5 s for the last hour, oldest first; with `?since=`, those after that time. */
  readonly history: readonly StatusSample[];
  /**
   * At most 100, the latest first: the last refusal of each registered client. With `?client=` those of this client, with `?reason=`
   * those for this reason, of callers that are not registered too.
   */
  readonly refusals: readonly RefusalRecord[];
  /** What has changed, the latest first, at most 20. */
  readonly events: readonly StatusEvent[];
}

/** What was counted from a minute ago, or from the start, until now. Only the reasons that there were. */
export type LastMinute = Pick<StatusTotals, 'requests' | 'tokens' | 'refusals'>;

export interface StatusLatency {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** What the process uses. */
export interface StatusProcess {
  /** Cores, over the last minute. */
  readonly cpu: number | null;
  readonly memory_bytes: number;
  /** Delay of timers, over the last seconds. */
  readonly event_loop_p99: number;
  /** To the public port. */
  readonly connections: number;
}

/** Totals since the start, and percentiles and sizes at that time. */
export interface StatusSample extends Pick<StatusTotals, 'tokens' | 'cache_hits' | 'cache_misses'> {
  readonly at: number;
  readonly ready: boolean;
  readonly refusals: number;
  /** Of tokens that were issued since the sample before. */
  readonly p50: number | null;
  readonly p99: number | null;
  /** Verifications that wait in all queues together. */
  readonly waiting: number;
}

/** A change of something that the service consists of, or depends on. */
export interface StatusEvent {
  readonly at: number;
  /** A check, or the signing key. */
  readonly subject: string;
  readonly text: string;
}
