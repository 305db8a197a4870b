import type { Handler } from '../server/route.ts';

export const METRICS_PATH = '/metrics';

/** What was measured, as a scraper reads it. */
export type Scrape = () => Promise<{ readonly contentType: string; readonly text: string }>;

/** GET /metrics: one scrape of the whole service. */
export function metricsEndpoint(scrape: Scrape): Handler {
  return async (ctx) => {
    const { contentType, text } = await scrape();
    ctx.status = 200;
    ctx.set('Content-Type', contentType);
    ctx.body = text;
  };
}
