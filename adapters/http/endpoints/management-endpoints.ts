import type { HealthCheck } from '../../../application/ports/health-check.ts';
import type { Handler } from '../server/application.ts';

export const LIVENESS_PATH = '/livez';
export const READINESS_PATH = '/readyz';
export const METRICS_PATH = '/metrics';

/** Collects all metrics, in the format of the scraper. */
export type Scrape = () => Promise<{ readonly contentType: string; readonly text: string }>;

/** GET /livez: always 200 while this process responds. An unavailable dependency is no reason to restart it. */
export function livenessEndpoint(): Handler {
  return async (ctx) => {
    ctx.status = 200;
    ctx.body = { status: 'alive' };
  };
}

/** GET /readyz: 200 if every check is ready, otherwise 503, with the state of each check. */
export function readinessEndpoint(checks: () => readonly HealthCheck[]): Handler {
  return async (ctx) => {
    const states = checks().map((check) => ({ name: check.name, ...check.readiness() }));
    const ready = states.every((state) => state.ready);
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? 'ready' : 'not_ready', checks: states };
  };
}

/** GET /metrics: the metrics of the whole service, in all of its processes. */
export function metricsEndpoint(scrape: Scrape): Handler {
  return async (ctx) => {
    const { contentType, text } = await scrape();
    ctx.status = 200;
    ctx.set('Content-Type', contentType);
    ctx.body = text;
  };
}
