import type { Scrape } from '../adapters/http/endpoints/metrics-endpoint.ts';
import { exposition } from '../adapters/prom-client/exposition.ts';
import { ServiceGauges } from '../adapters/prom-client/service-gauges.ts';
import { type Get, TOKENS } from './tokens.ts';

/** All that the service measured, in all of its processes. Belongs into the one that has the queue of secret checks. */
export function createScrape(get: Get): Scrape {
  const workforce = get(TOKENS.workforce);
  const own = get(TOKENS.processMetrics);
  const service = new ServiceGauges(() => ({
    ready: get(TOKENS.healthChecks)().every((check) => check.readiness().ready),
    workers: workforce.size,
    listening: workforce.listening,
    checks: get(TOKENS.checkQueue).load,
  }));
  return async () => {
    const [elsewhere, ...here] = await Promise.all([workforce.metrics(), service.snapshot(), own.snapshot()]);
    return exposition([...here, ...elsewhere]);
  };
}
