import type { CheckState } from '../../../application/ports/health-check.ts';
import type { KeyPeriod, RefusalRecord, StatusTotals } from '../../../application/ports/telemetry.ts';

/**
 * The response of `GET /status/data`: the state of the service, for the status page. Totals are those of `/metrics`, read at the
 * moment of the request. Times in seconds since 1970, durations in seconds.
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
  /** The state now, in one sentence. */
  readonly summary: string;
  /** As `/readyz` has them. */
  readonly checks: readonly CheckState[];
  /** Since startup. */
  readonly totals: StatusTotals;
  /** Since a minute ago, or since startup. Only the reasons that there were. */
  readonly last_minute: StatusTotals;
  /** The keys that tokens are verified with. */
  readonly keys: readonly KeyPeriod[];
  /** One sample each 15 s for the last hour, oldest first. */
  readonly history: readonly StatusSample[];
  /**
   * At most 100, the latest first: the last refusal of each registered client. With `?client=` those of this client, with `?reason=`
   * those for this reason, of callers that are not registered too.
   */
  readonly refusals: readonly RefusalRecord[];
}

/** What happened between the sample before and this one. */
export interface StatusSample {
  readonly at: number;
  /** Whether the service was ready at that time. */
  readonly ready: boolean;
  /** Each second. */
  readonly tokens: number;
  readonly refusals: number;
  /** How long responses with a token took; null without any. */
  readonly p50: number | null;
  readonly p99: number | null;
}
