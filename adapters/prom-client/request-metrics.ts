import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { RequestLine } from '../../application/ports/telemetry.ts';

/** What is counted of a request. Only the method is the caller's choice; the others come from closed sets. */
type MeasuredRequest = Pick<RequestLine, 'method' | 'route' | 'status' | 'duration_ms' | 'reason'>;

/** What the log calls a request that the HTTP parser refused. Its start is unknown, so it has no duration. */
const UNPARSED = 'unparsed';

/** Every other method is counted as `other`, so that a caller cannot create series. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', UNPARSED]);

/** From half a millisecond, which is one signature, to five seconds, which is longer than any wait in the service. */
const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The reason of a request that was not refused. */
const NO_REASON = 'none';

interface Series {
  readonly total: Counter.Internal;
  readonly duration: Histogram.Internal<string> | undefined;
}

/** The metrics of requests. */
export class RequestMetrics {
  readonly #total: Counter<'route' | 'method' | 'status' | 'reason'>;
  readonly #duration: Histogram<'route' | 'status_class'>;
  readonly #started = new Map<string, Series>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#total = new Counter({
      name: 'auth_requests_total',
      help: 'Requests that were answered, by declared path, method, status and reason of the refusal.',
      labelNames: ['route', 'method', 'status', 'reason'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'auth_request_duration_seconds',
      help: 'Seconds from the header section of a request until its response is made.',
      labelNames: ['route', 'status_class'],
      buckets: BUCKETS_SECONDS,
      registers,
    });
  }

  /** Never throws, and takes about a microsecond: it is called for every request. */
  readonly count = ({ route, method, status, duration_ms, reason = NO_REASON }: MeasuredRequest): void => {
    const knownMethod = METHODS.has(method) ? method : 'other';
    const key = `${route} ${knownMethod} ${status} ${reason}`;
    let series = this.#started.get(key);
    if (series === undefined) {
      series = {
        total: this.#total.labels(route, knownMethod, String(status), reason),
        duration: method === UNPARSED ? undefined : this.#duration.labels(route, `${Math.floor(status / 100)}xx`),
      };
      this.#started.set(key, series);
    }
    series.total.inc();
    series.duration?.observe(duration_ms / 1_000);
  };
}
