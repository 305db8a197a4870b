import { TOKEN_PATH } from '../endpoints/discovery-endpoints.ts';
import type { Measurements } from './measurements.ts';

const REQUESTS = 'auth_requests_total';

/** The totals of the status page, by the metrics that they are read from. */
export const TOTALS = {
  requests: (now: Measurements) => now.total(REQUESTS) ?? 0,
  tokens: (now: Measurements) =>
    now.total(REQUESTS, (labels) => labels['route'] === TOKEN_PATH && labels['status'] === '200') ?? 0,
  refusals: (now: Measurements) => now.total(REQUESTS, (labels) => labels['reason'] !== 'none') ?? 0,
  refusalsByReason: (now: Measurements) => now.totalsBy('reason', REQUESTS, 'none'),
  waiting: (now: Measurements) => now.total('auth_secret_verifications_waiting') ?? 0,
  cacheHits: (now: Measurements) => now.total('auth_verified_secret_hits_total'),
  cacheMisses(now: Measurements): number | null {
    const [lookUps, hits] = [now.total('auth_verified_secret_lookups_total'), TOTALS.cacheHits(now)];
    return lookUps === null || hits === null ? null : lookUps - hits;
  },
  connectionsDropped: (now: Measurements) => now.total('auth_http_connections_dropped_total') ?? 0,
  logLinesLost: (now: Measurements) => now.total('auth_log_lines_lost_total') ?? 0,
};
