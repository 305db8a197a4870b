import { describe, expect, it } from '@jest/globals';
import { metricsScrape } from '../../../adapters/prom-client/metrics-scrape.ts';
import { ProcessMetrics } from '../../../adapters/prom-client/process-metrics.ts';
import type { MetricsSnapshot } from '../../../application/ports/telemetry.ts';
import { readSamples, total } from '../../support/read-samples.ts';

const REQUEST = { method: 'POST', route: '/oauth2/token', status: 200, duration_ms: 1 };

/** The metrics of a worker after a number of requests. */
async function snapshotOf(worker: number, requests: number): Promise<MetricsSnapshot> {
  const metrics = new ProcessMetrics(`worker-${worker}`);
  for (let time = 0; time < requests; time += 1) metrics.count(REQUEST);
  // As the primary receives it over the pipe.
  return structuredClone(await metrics.snapshot());
}

type Answers = ReadonlyMap<number, MetricsSnapshot | undefined>;

/** A scrape of a primary, whose workers give one answer after the other. */
function scrapeOf(...answers: readonly (Answers | Promise<Answers>)[]) {
  const left = [...answers];
  const workers = async () => left.shift() ?? new Map();
  const scrape = metricsScrape({ process: new ProcessMetrics('primary'), service: () => {}, workers });
  return async () => readSamples((await scrape()).text);
}

describe('the metrics of workers', () => {
  it('add up what the workers counted, and keep the metrics of their processes apart', async () => {
    const scrape = scrapeOf(new Map([1, 2].map((id) => [id, undefined])));
    expect(total(await scrape(), 'auth_requests_total')).toBe(0);
    const both = new Map([
      [1, await snapshotOf(1, 3)],
      [2, await snapshotOf(2, 4)],
    ]);
    const samples = await scrapeOf(both)();
    expect(total(samples, 'auth_requests_total')).toBe(7);
    expect(total(samples, 'auth_request_duration_seconds_count')).toBe(7);
    expect(total(samples, 'auth_request_duration_seconds_sum')).toBeCloseTo(0.007);
    const memory = samples.filter(({ name }) => name === 'auth_process_resident_memory_bytes');
    expect(memory.map(({ labels }) => labels['process'])).toEqual(['primary', 'worker-1', 'worker-2']);
  });

  it('keep the last totals of a worker that does not answer, but not the metrics of its process', async () => {
    const scrape = scrapeOf(new Map([[1, await snapshotOf(1, 3)]]), new Map([[1, undefined]]));
    await scrape();
    const samples = await scrape();
    expect(total(samples, 'auth_requests_total')).toBe(3);
    expect(samples.filter(({ labels }) => labels['process'] === 'worker-1')).toEqual([]);
  });

  it('replace the totals of a worker by its newer ones', async () => {
    const scrape = scrapeOf(new Map([[1, await snapshotOf(1, 3)]]), new Map([[1, await snapshotOf(1, 5)]]));
    await scrape();
    expect(total(await scrape(), 'auth_requests_total')).toBe(5);
  });

  it('do not fall when the answer to an earlier reading arrives after that to a later one', async () => {
    const late = Promise.withResolvers<Answers>();
    const scrape = scrapeOf(late.promise, new Map([[1, await snapshotOf(1, 5)]]), new Map([[1, undefined]]));
    const first = scrape();
    expect(total(await scrape(), 'auth_requests_total')).toBe(5);
    late.resolve(new Map([[1, await snapshotOf(1, 3)]]));
    expect(total(await first, 'auth_requests_total')).toBe(5);
    expect(total(await scrape(), 'auth_requests_total')).toBe(5);
  });

  it('never fall when workers end', async () => {
    const answers: Answers[] = [];
    for (let worker = 1; worker <= 20; worker += 1) answers.push(new Map([[worker, await snapshotOf(worker, 2)]]));
    const scrape = scrapeOf(...answers);
    for (const [ended] of answers.entries()) {
      const samples = await scrape();
      expect(total(samples, 'auth_requests_total')).toBe(2 * (ended + 1));
      expect(new Set(samples.flatMap(({ labels }) => labels['process'] ?? []))).toEqual(
        new Set(['primary', `worker-${ended + 1}`]),
      );
    }
    const [one, other] = await Promise.all([scrape(), scrape()]);
    expect([total(one, 'auth_requests_total'), total(other, 'auth_requests_total')]).toEqual([40, 40]);
  });
});
