import { Counter, Histogram, type Registry } from '@prometheus-io/client';

/** What is counted of a request. Route, status and reason come from closed sets of ours; the caller chooses the method. */
export interface MeasuredRequest {
  readonly method: string;
  /** The path of the matched route as it was declared, or `none`. */
  readonly route: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly reason?: string;
}

/** What the log calls a request that the HTTP parser refused. Its start is unknown, so it has no duration. */
const UNPARSED = 'unparsed';

/** Every other method is counted as `other`, so that a caller cannot create series. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', UNPARSED]);

/** From half a millisecond, which is one signature, to five seconds, which is longer than any wait in the service. */
const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

interface Series {
  readonly total: Counter.Internal;
  readonly duration: Histogram.Internal<string> | undefined;
}

/** Counts requests and their durations. */
export class RequestMetrics {
  readonly #total: Counter<'route' | 'method' | 'status' | 'reason'>;
  readonly #duration: Histogram<'route' | 'status_class'>;
  readonly #series = new Map<string, Series>();

  constructor(registry: Registry) {
    this.#total = new Counter({
      name: 'auth_requests_total',
      help: 'Requests that were answered, by declared path, method, status and reason of the refusal.',
      labelNames: ['route', 'method', 'status', 'reason'],
      registers: [registry],
    });
    this.#duration = new Histogram({
      name: 'auth_request_duration_seconds',
      help: 'Seconds from the header section of a request until its answer is made.',
      labelNames: ['route', 'status_class'],
      buckets: BUCKETS_SECONDS,
      registers: [registry],
    });
  }

  /** Never throws, and takes about a microsecond: it is called for every request. */
  readonly count = ({ route, method, status, duration_ms, reason = 'none' }: MeasuredRequest): void => {
    const knownMethod = METHODS.has(method) ? method : 'other';
    const key = `${route} ${knownMethod} ${status} ${reason}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = this.#start(route, knownMethod, status, reason);
      this.#series.set(key, series);
    }
    series.total.inc();
    series.duration?.observe(duration_ms / 1_000);
  };

  #start(route: string, method: string, status: number, reason: string): Series {
    const statusClass = `${Math.floor(status / 100)}xx`;
    return {
      total: this.#total.labels(route, method, String(status), reason),
      duration: method === UNPARSED ? undefined : this.#duration.labels(route, statusClass),
    };
  }
}
