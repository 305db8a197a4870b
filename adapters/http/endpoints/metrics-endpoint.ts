import type { Handler } from '../server/route.ts';

export const METRICS_PATH = '/metrics';

/** Collects all metrics, in the format of the scraper. */
export type Scrape = () => Promise<{ readonly contentType: string; readonly text: string }>;

/** GET /metrics: the metrics of the whole service, in all of its processes. */
export function metricsEndpoint(scrape: Scrape): Handler {
  return async (ctx) => {
    const { contentType, text } = await scrape();
    ctx.status = 200;
    ctx.set('Content-Type', contentType);
    ctx.body = text;
  };
}
