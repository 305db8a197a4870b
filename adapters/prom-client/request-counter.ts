import { Counter, Histogram, type Registry } from '@prometheus-io/client';

/** What is counted of a request. Route, status and reason come from closed sets; only the method is the caller's choice. */
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

/**
 * Registers the metrics of requests, and returns the function that counts one. It never throws, and takes about a
 * microsecond: it is called for every request.
 */
export function createRequestCounter(registry: Registry): (request: MeasuredRequest) => void {
  const total = new Counter({
    name: 'auth_requests_total',
    help: 'Requests that were answered, by declared path, method, status and reason of the refusal.',
    labelNames: ['route', 'method', 'status', 'reason'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'auth_request_duration_seconds',
    help: 'Seconds from the header section of a request until its answer is made.',
    labelNames: ['route', 'status_class'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  });
  const started = new Map<string, Series>();

  return ({ route, method, status, duration_ms, reason = 'none' }) => {
    const knownMethod = METHODS.has(method) ? method : 'other';
    const key = `${route} ${knownMethod} ${status} ${reason}`;
    let series = started.get(key);
    if (series === undefined) {
      series = {
        total: total.labels(route, knownMethod, String(status), reason),
        duration: method === UNPARSED ? undefined : duration.labels(route, `${Math.floor(status / 100)}xx`),
      };
      started.set(key, series);
    }
    series.total.inc();
    series.duration?.observe(duration_ms / 1_000);
  };
}
